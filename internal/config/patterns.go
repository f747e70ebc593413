package config

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var patternsPath = []string{"redact", "patterns"}

// Patterns returns the expressions that find what the user holds secret.
func (c *Config) Patterns() ([]*regexp.Regexp, error) {
	v, file := c.find(patternsPath)
	patterns, err := parsePatterns(v)
	if err != nil {
		return nil, &Error{File: file, Key: "redact.patterns", Err: err, hint: "give it " + forms["patterns"]}
	}
	return patterns, nil
}

func parsePatterns(v jsontext.Value) (patterns []*regexp.Regexp, err error) {
	if v == nil {
		return nil, nil
	}
	var texts []string
	if json.Unmarshal(v, &texts) != nil {
		return nil, fmt.Errorf("%s is no list of texts", v)
	}
	for _, text := range texts {
		p, err := Pattern(text)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

// Pattern reads one of them. An empty one is an error: it finds nothing, and is most
// often a variable that is not set.
func Pattern(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, errors.New("the regular expression is empty")
	}
	return regexp.Compile(text)
}

// patternsValue reads what the user sets. A text that is no JSON list is one expression:
// the commas in it may belong to it.
func patternsValue(text string) (jsontext.Value, error) {
	v := jsontext.Value(text)
	if !v.IsValid() || v.Kind() != '[' {
		var err error
		if v, err = json.Marshal([]string{text}); err != nil {
			return nil, err
		}
	}
	_, err := parsePatterns(v)
	return v, err
}
