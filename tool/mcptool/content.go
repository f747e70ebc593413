package mcptool

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// What of one result goes to a model at most, beside text, which the tool itself cuts.
const (
	partLimit = 200
	dataLimit = 8 << 20 // bytes of images and files
)

// resultOf makes parts of a result. What a server calls structured goes along as JSON
// unless its text says the same, and is checked against the schema that it promised.
func resultOf(res *mcp.CallToolResult, output *tool.Schema) tool.Result {
	out := tool.Result{Parts: parts(res.Content), Failed: res.IsError}
	if res.StructuredContent == nil {
		return out
	}
	if !told(res) {
		data, err := json.Marshal(res.StructuredContent)
		if err == nil {
			out.Parts = append(out.Parts, session.Text(string(data)))
		}
	}
	if output == nil || res.IsError {
		return out
	}
	if err := output.Validate(res.StructuredContent); err != nil {
		out.Failed = true
		out.Parts = append(out.Parts, note("The result is not what the tool promises: %v", err))
	}
	return out
}

// told reports whether one of a result's texts says what its structured content does: it
// is its JSON, or the one text in it.
func told(res *mcp.CallToolResult) bool {
	only := ""
	if object, ok := res.StructuredContent.(map[string]any); ok && len(object) == 1 {
		for _, member := range object {
			only, _ = member.(string)
		}
	}
	for _, content := range res.Content {
		text, ok := content.(*mcp.TextContent)
		if !ok {
			continue
		}
		var value any
		if text.Text == only || json.Unmarshal([]byte(text.Text), &value) == nil && reflect.DeepEqual(value, res.StructuredContent) {
			return true
		}
	}
	return false
}

// parts makes parts of a server's contents.
func parts(contents []mcp.Content) (out []session.Part) {
	room := dataLimit
	for i, content := range contents {
		if i == partLimit {
			return append(out, note("%d more parts are left out", len(contents)-i))
		}
		p := partOf(content)
		if room -= len(p.Data); room < 0 {
			p = note("%s of %d bytes is left out: there is too much", p.MIME, len(p.Data))
		}
		out = append(out, p)
	}
	return out
}

func partOf(content mcp.Content) session.Part {
	switch v := content.(type) {
	case *mcp.TextContent:
		return session.Text(v.Text)
	case *mcp.ImageContent:
		return binary("image", v.MIMEType, v.Data)
	case *mcp.AudioContent:
		return binary("audio", v.MIMEType, v.Data)
	case *mcp.ResourceLink:
		return linkOf(v)
	case *mcp.EmbeddedResource:
		return resourcePart(v.Resource)
	}
	return note("a part of a kind that is not known here is left out")
}

// linkOf tells of a resource that can be read. It is text, for a model's provider must
// not fetch what a server names.
func linkOf(v *mcp.ResourceLink) session.Part {
	data, err := json.Marshal(Resource{
		URI: clean(v.URI, noteLimit), Name: clean(v.Name, 200), Description: clean(v.Description, noteLimit), MIME: clean(v.MIMEType, 100),
	})
	if err != nil {
		return note("a link that cannot be written down is left out")
	}
	return session.Text("resource link: " + string(data))
}

// resourcePart makes a part of a resource's contents.
func resourcePart(v *mcp.ResourceContents) session.Part {
	if v == nil {
		return note("a resource without contents is left out")
	}
	p := session.Text(v.Text)
	if v.Blob != nil {
		p = binary(v.URI, v.MIMEType, v.Blob)
	}
	if p.Kind == session.PartText {
		p.URL = clean(v.URI, noteLimit)
	}
	return p
}

// binary makes a part of bytes, by what they are and not by what they are called: a
// provider refuses a session for good that holds an image that is none. What models
// cannot read is named only.
func binary(name, mime string, data []byte) session.Part {
	kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return session.Image(kind, data)
	case "application/pdf":
		return session.File(clean(name, 200), kind, data)
	case "text/plain", "text/html", "text/xml":
		if utf8.Valid(data) && !strings.HasPrefix(mime, "audio/") {
			return session.Text(string(data))
		}
	}
	return note("%s: %d bytes of %s, which cannot be shown", clean(name, 200), len(data), clean(mime, 100))
}

// note is what we ourselves say in a result.
func note(format string, args ...any) session.Part {
	return session.Text("[" + clean(fmt.Sprintf(format, args...), noteLimit) + "]")
}
