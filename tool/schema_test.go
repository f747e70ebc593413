package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// doubling is a schema that applies its last part 2^n times to a value.
func doubling(n int) string {
	defs := []string{`"a0":{"type":"object"}`}
	for i := 1; i < n; i++ {
		defs = append(defs, fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i-1, i-1))
	}
	return fmt.Sprintf(`{"type":"object","$defs":{%s},"$ref":"#/$defs/a%d"}`, strings.Join(defs, ","), n-1)
}

func TestSchemaRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ schema, want string }{
		"itself":          {`{"type":"object","allOf":[{"$ref":"#"}]}`, "again"},
		"in a circle":     {`{"$ref":"#/$defs/a","$defs":{"a":{"not":{"$ref":"#/$defs/b"}},"b":{"if":{"$ref":"#/$defs/a"}}}}`, "again"},
		"by anchor":       {`{"$anchor":"x","anyOf":[{"$ref":"#x"}]}`, "again"},
		"dynamic":         {`{"$dynamicAnchor":"x","oneOf":[{"$dynamicRef":"#x"}]}`, "again"},
		"deep within":     {`{"properties":{"a":{"items":{"$ref":"#/properties/a/items"}}}}`, "again"},
		"escaped":         {`{"$ref":"#/$defs/a~1%7E0b","$defs":{"a/~b":{"$ref":"#"}}}`, "again"},
		"by its own name": {`{"$id":"http://x.example/s","$ref":"http://x.example/s#"}`, "again"},
		"dependent":       {`{"dependentSchemas":{"a":{"$ref":"#"}}}`, "again"},
		"odd pointer":     {`{"allOf":[{"$ref":"#/allOf/+0"}]}`, "nothing"},
		"rebased":         {`{"allOf":[{"$id":"http://x.example/s","$ref":"#"}]}`, "not supported"},
		"doubling":        {doubling(40), "same value"},
		"elsewhere":       {`{"$ref":"http://evil.example/s"}`, "evil.example"},
		"pattern":         {`{"pattern":"((a{100}){10}b{1000}){1}` + strings.Repeat("c{1000}", 30) + `"}`, "too large"},
		"null":            {`{"allOf":[null]}`, "null"},
	} {
		if _, err := ParseSchema(json.RawMessage(test.schema)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaUsed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ schema, good, bad string }{
		"tree":        {`{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}`, `{"kids":[{"kids":[]},{}]}`, `{"kids":[{"x":1}]}`},
		"shared":      {`{"properties":{"a":{"$ref":"#/$defs/t"},"b":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"string"}}}`, `{"a":"x","b":"y"}`, `{"b":1}`},
		"draft 7":     {`{"$schema":"http://json-schema.org/draft-07/schema#","$id":"http://x.example/s","definitions":{"n":{"type":"integer"}},"properties":{"a":{"items":[{"$ref":"#/definitions/n"}]}}}`, `{"a":[1,"x"]}`, `{"a":["x"]}`},
		"names":       {`{"propertyNames":{"pattern":"^[a-z]{1,5}$"},"patternProperties":{"^a":{"type":"string"}}}`, `{"ab":"x"}`, `{"ab":1}`},
		"own id":      {`{"$id":"http://x.example/s","properties":{"a":{"$ref":"s#/$defs/a"}},"$defs":{"a":{"const":1}}}`, `{"a":1}`, `{"a":2}`},
		"inner ids":   {`{"properties":{"a":{"$id":"http://x.example/a","type":"string"}}}`, `{"a":"x"}`, `{"a":1}`},
		"large value": {`{"type":"object","properties":{"content":{"type":"string","maxLength":9000000}}}`, `{"content":"` + strings.Repeat("x", 8<<20) + `"}`, `{"content":"` + strings.Repeat("x", 10<<20) + `"}`},
	} {
		s, err := ParseSchema(json.RawMessage(test.schema))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := s.Validate(decoded(t, test.good)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Validate(decoded(t, test.bad)); err == nil || errors.Is(err, ErrSchemaWork) || len(err.Error()) > messageLimit+10 {
			t.Errorf("%s: %.100v", name, err)
		}
	}
}

// What is harmless for one value is not for another.
func TestSchemaWork(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	twice := `{"properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`
	for name, test := range map[string]struct{ schema, value string }{
		"twice a step":  {twice, nested(40)},
		"deep":          {`{"properties":{"a":{"$ref":"#"}}}`, nested(5000)},
		"long errors":   {`{"anyOf":[` + strings.Repeat(`{"type":"integer"},`, 500) + `false]}`, `"` + strings.Repeat("x", 4<<20) + `"`},
		"long patterns": {`{"pattern":"` + strings.Repeat("(a|b)*", 500) + `"}`, `"` + strings.Repeat("ab", 1<<20) + `"`},
	} {
		s, err := ParseSchema(json.RawMessage(test.schema))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		begin := time.Now()
		if err := s.Validate(decoded(t, test.value)); !errors.Is(err, ErrSchemaWork) || time.Since(begin) > 5*time.Second {
			t.Errorf("%s: %.100v after %v", name, err, time.Since(begin))
		}
	}
	s, err := ParseSchema(json.RawMessage(twice))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(decoded(t, nested(5))); err != nil {
		t.Error(err)
	}
}

func TestToolWithHostileSchema(t *testing.T) {
	t.Parallel()
	bad := &Tool{Name: "bad", Schema: json.RawMessage(`{"type":"object","allOf":[{"$ref":"#"}]}`),
		Run: func(context.Context, json.RawMessage) (Result, error) { return Result{}, nil }}
	if err := bad.Check(); err == nil {
		t.Error("it is taken")
	}
	if err := bad.validate(json.RawMessage(`{}`)); err == nil {
		t.Error("it is used")
	}
}

func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
