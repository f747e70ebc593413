// MCP: an agent can have the tools of servers that speak the Model Context Protocol. These are
// programs of others, in any language, and nothing has to be written for them here: what they
// offer becomes ordinary tools, as a library of operators becomes part of a program.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool/mcptool"
)

// The server is this program itself, started once more, so that nothing has to be installed.
var serves = flag.Bool("serve", false, "be the server")

type city struct {
	City string `json:"city" jsonschema:"the city"`
}

type weather struct {
	Celsius int    `json:"celsius"`
	Sky     string `json:"sky"`
}

// serve is an MCP server, as anybody could write it: Rath is not in it.
func serve() error {
	s := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{
		Name: "forecast", Description: "Tell the weather of tomorrow.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, // calls may run in parallel, and nobody is asked
	}, func(_ context.Context, _ *mcp.CallToolRequest, in city) (*mcp.CallToolResult, weather, error) {
		known := map[string]weather{"Lisbon": {24, "clear"}, "Oslo": {3, "snow"}}
		w, ok := known[in.City]
		if !ok {
			return nil, w, fmt.Errorf("there is no forecast for %q", in.City)
		}
		return nil, w, nil
	})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

// [mcptool.Connect] starts a server, or reaches one by URL, and keeps one connection for all
// calls. What a server says of its tools' effects is made their class; what goes wrong in a call
// goes back to the model.
func main() {
	model := live.Or(scripted.New( // which reads the flags
		scripted.Reply{Calls: []session.Call{
			scripted.Call("weather__forecast", `{"city":"Lisbon"}`),
			scripted.Call("weather__forecast", `{"city":"Atlantis"}`),
		}},
		scripted.Reply{Text: "Lisbon will be clear at 24 degrees. Nobody knows about Atlantis."},
	))
	if *serves {
		if err := serve(); err != nil {
			log.Fatal(err)
		}
		return
	}

	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	server, err := mcptool.Connect(ctx, mcptool.Server{Name: "weather", Command: []string{self, "-serve"}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close() // ends the program

	for _, t := range server.Tools() {
		fmt.Println(t.Name, t.Class, t.Description)
	}
	agent := &flow.Agent{Model: model, Tools: server.Tools()}
	out, err := agent.Forward(ctx, session.FromUser("What is the weather tomorrow in Lisbon, and in Atlantis?"))
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range out.All() {
		if c.Kind() == session.KindToolResult {
			fmt.Println(c.Answer().Outcome, c.Text())
		}
	}
	fmt.Println(out.Text())
}
