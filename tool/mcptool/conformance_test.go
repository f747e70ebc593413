//go:build unix

package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/openrath-go/rath/internal/mcpserver/npmtest"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// The official suite looks at how a client keeps to the revisions of the protocol.
func TestConformance(t *testing.T) {
	for _, revision := range []string{legacy, "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			npmtest.Conform(t, "client", revision, "testdata/conformance.yml", []string{helperEnv + "=conformance"}, "--command", os.Args[0])
		})
	}
}

// scene is what the suite tells the client of a scenario.
type scene struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ToolCalls    []struct {
		Name      string
		Arguments json.RawMessage
	}
}

// conform is the client that the suite starts: it uses all that the server in its last
// argument offers, as a run does.
func conform() {
	var s scene
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	o := &Options{Elicit: confirm, Resources: true, Prompts: true}
	if strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/") {
		o.OAuth = authorization(s)
	}
	c, err := Connect(ctx, Server{Name: "s", URL: os.Args[len(os.Args)-1]}, o)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for _, call := range s.ToolCalls {
		say(ctx, c, "s__"+call.Name, string(call.Arguments))
	}
	for _, t := range c.Tools() {
		say(ctx, c, t.Name, argumentsFor(c, t.Name))
	}
	if resources, err := c.Resources(ctx); err == nil && len(resources) > 0 {
		fmt.Println(c.ReadResource(ctx, resources[0].URI))
	}
	if prompts, err := c.Prompts(ctx); err == nil && len(prompts) > 0 {
		fmt.Println(c.GetPrompt(ctx, prompts[0].Name, nil))
	}
}

// confirm accepts every form, and fills in no more than it must.
func confirm(_ context.Context, e Elicitation) (Answer, error) {
	if strings.Contains(string(e.Schema), `"confirmed"`) {
		return Answer{Accept, map[string]any{"confirmed": true}}, nil
	}
	return Answer{Accept, map[string]any{}}, nil
}

// say has a call dispatched as an agent's is, and prints what it gives for the suite's log.
func say(ctx context.Context, c *Client, name, arguments string) {
	d := tool.Dispatch{Tools: c.Tools()}
	done, err := d.Run(tool.WithApprover(ctx, tool.AllowAll), session.FromUser("go"), []session.Call{{ID: name, Name: name, Arguments: arguments}})
	fmt.Println(name, done[0].Chunk.Text(), err)
}

// argumentsFor are what the suite's tools want to be called with.
func argumentsFor(c *Client, name string) string {
	switch name {
	case "s__add_numbers":
		return `{"a":5,"b":3}`
	case "s__json_schema_echo":
		return `{"schema":` + string(c.Tools().Find("s__json_schema_2020_12_tool").Schema) + `}`
	}
	if strings.Contains(string(c.Tools().Find(name).Schema), `"region"`) {
		return `{"region":"us-west1"}`
	}
	return `{}`
}

// authorization asks the suite's authorization server, which redirects at once to where a
// person would be sent.
func authorization(s scene) auth.OAuthHandler {
	const callback = "http://localhost:3000/callback"
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:                    callback,
		AuthorizationCodeFetcher:       authorize,
		ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{URL: "https://conformance-test.local/client-metadata.json"},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{RedirectURIs: []string{callback}},
		},
	}
	if s.ClientSecret != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: s.ClientID, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: s.ClientSecret}}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		log.Fatal(err)
	}
	return handler
}

var errNoRedirect = errors.New("the authorization server does not redirect")

func authorize(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	to, err := res.Location()
	if err != nil {
		return nil, errors.Join(errNoRedirect, err)
	}
	q := to.Query()
	return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
}
