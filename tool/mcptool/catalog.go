package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/tool"
)

// catalog is what a server offers, as a journal keeps it.
type catalog struct {
	Tools     []offer  `json:"tools"`
	Problems  []string `json:"problems,omitempty"`
	Resources bool     `json:"resources,omitempty"`
	Prompts   bool     `json:"prompts,omitempty"`
}

// offer is one tool of a server.
type offer struct {
	Name        string          `json:"name"` // the server's own
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	Output      json.RawMessage `json:"output,omitempty"` // the schema of structured results
	Class       effect.Class    `json:"class"`
}

// list asks for the server's tools, as an effect, and takes them into use.
func (c *Client) list(ctx context.Context) error {
	found, err := effect.Do(ctx, effect.Call{Kind: "mcp", Name: c.server.Name, Input: "list tools", Class: effect.ReadOnly},
		func(ctx context.Context) (catalog, error) {
			ctx, cancel := c.during(ctx)
			defer cancel()
			k, err := c.connection(ctx)
			if err != nil {
				return catalog{}, c.fail("connect", nil, err)
			}
			select {
			case <-c.changed: // this is the first list
			default:
			}
			return c.catalog(ctx, k)
		})
	if err != nil {
		return err
	}
	c.offer(found)
	return nil
}

// catalog reads a server's tools.
func (c *Client) catalog(ctx context.Context, k *conn) (catalog, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.connectTimeout())
	defer cancel()
	var found catalog
	can := k.session.InitializeResult().Capabilities
	if can == nil {
		return found, nil
	}
	found.Resources, found.Prompts = can.Resources != nil, can.Prompts != nil
	if can.Tools == nil {
		return found, nil
	}
	seen := map[string]bool{}
	cut, err := collect(k.session.Tools(ctx, nil), func(t *mcp.Tool) int { return c.enter(&found, t, seen) })
	if err != nil {
		k.suspect.Store(true)
		return found, c.fail("list tools", k, err)
	}
	if cut {
		found.tell("it has more than %d tools, or more than %d bytes of them: the others are left out", toolLimit, catalogLimit)
	}
	return found, nil
}

// enter adds a tool if it can be used. It returns the bytes that are kept.
func (c *Client) enter(found *catalog, t *mcp.Tool, seen map[string]bool) int {
	o, err := c.offerOf(t)
	if err == nil && seen[o.Name] {
		err = errors.New("there are two of that name")
	}
	if err != nil {
		problem := clean(c.hide(err.Error()), noteLimit)
		found.tell("the tool %s is left out: %s", clean(t.Name, 100), problem)
		return len(problem)
	}
	if o.Output, err = schemaOf(t.OutputSchema); err != nil {
		found.tell("the results of the tool %s are not checked: %s", o.Name, clean(c.hide(err.Error()), noteLimit))
	}
	seen[o.Name] = true
	found.Tools = append(found.Tools, o)
	return len(o.Name) + len(o.Description) + len(o.Schema) + len(o.Output)
}

func (f *catalog) tell(format string, args ...any) {
	f.Problems = append(f.Problems, fmt.Sprintf(format, args...))
}

// collect reads a list to its end, or a limit. add keeps an item and returns how many
// bytes that are.
func collect[T any](items iter.Seq2[*T, error], add func(*T) int) (cut bool, err error) {
	n, room := 0, catalogLimit
	for item, err := range items {
		switch {
		case err != nil:
			return false, err
		case n == toolLimit || room <= 0:
			return true, nil
		case item != nil:
			room -= add(item)
			n++
		}
	}
	return false, nil
}

// offerOf checks a tool as the server describes it.
func (c *Client) offerOf(t *mcp.Tool) (offer, error) {
	o := offer{Name: t.Name, Description: clean(t.Description, descriptionLimit)}
	if t.Name == "" || clean(t.Name, 256) != t.Name {
		return o, errors.New("its name is empty, too long, or has characters that do not print")
	}
	if h := t.Annotations; h != nil {
		if title := clean(h.Title, 200); o.Description == "" {
			o.Description = title
		}
		if !c.server.IgnoreHints {
			o.Class = classOf(h)
		}
	}
	schema, ok := t.InputSchema.(map[string]any)
	if !ok {
		return o, errors.New("it has no schema")
	}
	switch schema["type"] {
	case nil:
		schema["type"] = "object" // providers want to see it
	case "object":
	default:
		return o, errors.New("its arguments are no object")
	}
	var err error
	o.Schema, err = schemaOf(schema)
	return o, err
}

// classOf is what a server's hints mean for a call that left no result. One that says of a
// tool that it only reads and that it destroys does not know what it says.
func classOf(h *mcp.ToolAnnotations) effect.Class {
	destroys := h.DestructiveHint != nil && *h.DestructiveHint
	switch {
	case h.ReadOnlyHint && destroys:
		return effect.Mutating
	case h.ReadOnlyHint:
		return effect.ReadOnly
	case h.IdempotentHint:
		return effect.Idempotent
	}
	return effect.Mutating
}

// schemaOf checks a schema as it came, nil if there is none.
func schemaOf(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	data, err := json.Marshal(v)
	switch {
	case err != nil:
		return nil, err
	case len(data) > schemaLimit:
		return nil, fmt.Errorf("its schema has more than %d bytes", schemaLimit)
	}
	if data, err = cleanSchema(data); err != nil {
		return nil, err
	}
	if _, err := tool.ParseSchema(data); err != nil {
		return nil, fmt.Errorf("its schema cannot be used: %w", err)
	}
	return data, nil
}

// cleanSchema cleans what a schema says to its reader. What it says to a validator cannot
// be cleaned: a schema that has there what does not print is refused.
func cleanSchema(data json.RawMessage) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	v, err := cleanValue("", v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func cleanValue(key string, v any) (any, error) {
	var err error
	switch v := v.(type) {
	case string:
		switch {
		case key == "title" || key == "description" || key == "$comment":
			return clean(v, descriptionLimit), nil
		case hides(v):
			return nil, errHidden
		}
	case []any:
		for i := range v {
			if v[i], err = cleanValue("", v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			if hides(name) {
				return nil, errHidden
			}
			if v[name], err = cleanValue(name, v[name]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// offer takes what was found into use.
func (c *Client) offer(found catalog) {
	var raw []string
	for _, o := range found.Tools {
		raw = append(raw, o.Name)
	}
	extra := c.readers(found)
	for _, t := range extra {
		for slices.Contains(raw, t.Name) {
			t.Name = "rath_" + t.Name // the server has one of its own
		}
		raw = append(raw, t.Name)
	}
	called := names(c.server.Name, raw)
	var all tool.Set
	for i := range found.Tools {
		all = append(all, c.newTool(called[found.Tools[i].Name], found.Tools[i]))
	}
	for _, t := range extra {
		t.Name = called[t.Name]
		all = append(all, t)
	}
	for _, p := range found.Problems {
		c.opts.log().Warn(p, "server", c.server.Name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools, c.found = all, found
}

// notice has the tools listed again, soon.
func (c *Client) notice() {
	select {
	case c.changed <- struct{}{}:
	default: // it is known already
	}
}

// follow lists the tools again whenever they have changed, but not all the time.
func (c *Client) follow() {
	const rest = time.Second
	for {
		select {
		case <-c.changed:
			c.refresh()
		case <-c.life.Done():
			return
		}
		select {
		case <-time.After(rest):
		case <-c.life.Done():
		}
	}
}

// refresh lists the tools again if there is a connection: none is made for that.
func (c *Client) refresh() {
	k := c.current()
	if k == nil {
		return
	}
	found, err := c.catalog(c.life, k)
	if err != nil {
		if c.life.Err() == nil {
			c.opts.log().Warn("the changed tools of an mcp server cannot be listed", "server", c.server.Name, "error", err)
		}
		return
	}
	c.mu.Lock()
	same := reflect.DeepEqual(found, c.found)
	c.mu.Unlock()
	if same {
		return
	}
	c.offer(found)
	if c.opts.Changed != nil {
		c.opts.Changed(c.Tools())
	}
}
