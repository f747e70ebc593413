package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What the URIs of resources begin with.
const (
	SessionURI = "rath://session/"
	FlowURI    = "rath://flow/"
	noteURI    = "memory://"
)

// How many sessions and notes the list of resources has. All can be read.
const (
	listedSessions = 50
	listedNotes    = 200
)

// addResources lets sessions, notes and workflows be read.
func addResources(s *mcp.Server, b Backend, flows []Flow) {
	var fixed []*mcp.Resource
	for _, f := range flows {
		r := &mcp.Resource{URI: FlowURI + f.Name, Name: f.Name, Description: short(f.Description), MIMEType: "application/yaml"}
		s.AddResource(r, readFlow(f))
		fixed = append(fixed, r)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "session", Description: "A session, by its id or a beginning of it", MIMEType: "application/json", URITemplate: SessionURI + "{id}",
	}, readSession(b))
	s.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "note", Description: "A note of the memory", MIMEType: "application/json", URITemplate: noteURI + "{+path}",
	}, readNote(b))
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListResourcesResult); ok && err == nil {
				list.Resources, err = listResources(ctx, b)
				list.Resources = slices.Concat(fixed, list.Resources)
			}
			return res, err
		}
	})
}

func readSession(b Backend) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		id, err := sessionOf(req.Params.URI)
		if err != nil {
			return nil, err
		}
		return contents(req)(b.Session(ctx, Naming{id}))
	}
}

func readFlow(f Flow) mcp.ResourceHandler {
	return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "application/yaml", Text: f.Content}}}, nil
	}
}

func readNote(b Backend) mcp.ResourceHandler {
	return func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return contents(req)(b.Note(ctx, Noting{req.Params.URI}))
	}
}

// contents makes the answer to a request of what was read.
func contents(req *mcp.ReadResourceRequest) func(out json.RawMessage, err error) (*mcp.ReadResourceResult, error) {
	return func(out json.RawMessage, err error) (*mcp.ReadResourceResult, error) {
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: string(out)}}}, nil
	}
}

// listResources are the newest sessions, and the notes. They are asked for anew each time:
// other processes add to them.
func listResources(ctx context.Context, b Backend) ([]*mcp.Resource, error) {
	all := []*mcp.Resource{}
	out, err := b.Sessions(ctx, Listing{Limit: listedSessions})
	if err != nil {
		return nil, err
	}
	var sessions []struct{ ID, Text string }
	if err := json.Unmarshal(out, &sessions); err != nil {
		return nil, err
	}
	for _, s := range sessions {
		all = append(all, &mcp.Resource{URI: SessionURI + s.ID, Name: s.ID, Description: short(s.Text), MIMEType: "application/json"})
	}
	if out, err = b.Notes(ctx, Folder{}); err != nil {
		return nil, err
	}
	var notes []struct {
		URI, Abstract string
		Note          bool
	}
	if err := json.Unmarshal(out, &notes); err != nil {
		return nil, err
	}
	for _, n := range notes {
		if n.Note && len(all) < len(sessions)+listedNotes {
			all = append(all, &mcp.Resource{URI: n.URI, Name: n.URI[strings.LastIndexByte(n.URI, '/')+1:], Description: short(n.Abstract), MIMEType: "application/json"})
		}
	}
	return all, nil
}

// short is the beginning of a text, in one line.
func short(text string) string {
	const limit = 120
	text = strings.Join(strings.Fields(text), " ")
	for len(text) > limit {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return text
}
