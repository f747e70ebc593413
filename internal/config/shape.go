package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonKind is the type that the values of a known key have in JSON.
func jsonKind(kind string) string {
	return cmp.Or(map[string]string{
		"secret": "text", "provider": "text", "provider kind": "text", "secrets": "object", "patterns": "list",
	}[kind], kind)
}

// kindAt is the type of the known key at a path, "object" above one, and empty where
// nothing is known.
func kindAt(path []string) string {
	for _, k := range known {
		names := strings.Split(k.key, ".")
		if len(path) > len(names) || !slices.EqualFunc(names[:len(path)], path, func(want, name string) bool { return want == "*" || want == name }) {
			continue
		}
		if len(path) < len(names) {
			return "object"
		}
		return k.kind
	}
	return ""
}

// walk visits the members of an object, and of those in it that stand above known keys.
func walk(v jsontext.Value, at []string, visit func(path []string, v jsontext.Value, kind string) error) error {
	o, err := parseObject(v)
	if err != nil {
		return err
	}
	for _, m := range o {
		path := append(slices.Clip(at), m.name)
		kind := kindAt(path)
		if err := visit(path, m.value, kind); err != nil {
			return err
		}
		if kind == "object" && m.value.Kind() == '{' {
			if err := walk(m.value, path, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTypes refuses a file in which a known key, or what stands above it, has the wrong
// type: read as nothing, a rule for what is secret would be lost without a word.
func checkTypes(file string, v jsontext.Value) error {
	return walk(v, nil, func(path []string, v jsontext.Value, kind string) error {
		want := jsonKind(kind)
		if kind == "" || v.Kind() == 'n' || kindName(v.Kind()) == want {
			return nil
		}
		return &Error{File: file, Key: strings.Join(path, "."), Err: fmt.Errorf("it is %s, not %s", article(kindName(v.Kind())), article(want)), hint: correctFile}
	})
}

func article(kind string) string {
	if kind == "object" {
		return "an " + kind
	}
	return "a " + kind
}

// Unknown tells of members that mean nothing here, in objects that have known ones: they
// may be misspelt. They are kept when a setting is changed.
func (c *Config) Unknown() (unknown []string) {
	for file, v := range map[string]jsontext.Value{c.File(): c.config, c.credentialsFile(): c.credentials} {
		_ = walk(v, nil, func(path []string, _ jsontext.Value, kind string) error {
			if kind == "" && len(path) > 1 {
				unknown = append(unknown, file+": "+strings.Join(path, ".")+" is no setting of rath's")
			}
			return nil
		})
	}
	slices.Sort(unknown)
	return unknown
}

const correctFile = "correct the file, or move it away to begin anew"
