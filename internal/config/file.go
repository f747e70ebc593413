package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const version = 1

// member is one name and value of an object; order and unknown names are kept.
type member struct {
	name  string
	value jsontext.Value
}

// object is a JSON object in the order of its file.
type object []member

func parseObject(v jsontext.Value) (object, error) {
	var o object
	d := jsontext.NewDecoder(bytes.NewReader(v))
	if tok, err := d.ReadToken(); err != nil {
		return nil, err
	} else if tok.Kind() != '{' {
		return nil, fmt.Errorf("a %v stands where an object should", kindName(tok.Kind()))
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		o = append(o, member{key, value.Clone()})
	}
	_, err := d.ReadToken()
	return o, err
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "text"
	case '0':
		return "number"
	case '[':
		return "list"
	case '{':
		return "object"
	case 'n':
		return "null"
	}
	return "truth value"
}

func (o object) get(name string) jsontext.Value {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (o object) set(name string, v jsontext.Value) object {
	for i := range o {
		if o[i].name == name {
			o[i].value = v
			return o
		}
	}
	return append(o, member{name, v})
}

func (o object) encode() jsontext.Value {
	out := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, m.name) // it was valid when it was read
		out = append(append(out, ':'), m.value...)
	}
	return append(out, '}')
}

// lookup follows a path of names into an object; nil where there is nothing.
func lookup(v jsontext.Value, path []string) jsontext.Value {
	for _, name := range path {
		o, err := parseObject(v)
		if err != nil {
			return nil
		}
		if v = o.get(name); v == nil {
			return nil
		}
	}
	return v
}

// replace returns v with the value at a path replaced, objects made on the way.
func replace(v jsontext.Value, path []string, with jsontext.Value) (jsontext.Value, error) {
	if len(path) == 0 {
		return with, nil
	}
	if v == nil || v.Kind() == 'n' {
		v = jsontext.Value("{}")
	}
	o, err := parseObject(v)
	if err != nil {
		return nil, err
	}
	inner, err := replace(o.get(path[0]), path[1:], with)
	return o.set(path[0], inner).encode(), err
}

// load reads a file of the home; a missing one is an empty object.
func load(file string) (jsontext.Value, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return jsontext.Value(fmt.Sprintf(`{"version":%d}`, version)), nil
	}
	if err != nil {
		return nil, &Error{File: file, Err: err}
	}
	v := jsontext.Value(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if err := check(file, v); err != nil {
		if errors.As(err, new(*Error)) {
			return nil, err
		}
		e := &Error{File: file, Err: err, hint: correctFile}
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			e.Line, e.Column = position(v, syntax.ByteOffset)
			e.Err = errors.New("this is not JSON: " + syntax.Err.Error())
		}
		return nil, e
	}
	return v, nil
}

// check refuses what is no configuration of a version that is known.
func check(file string, v jsontext.Value) error {
	if err := json.Unmarshal(v, new(jsontext.Value)); err != nil {
		return err
	}
	if v.Kind() != '{' {
		return fmt.Errorf("it is %s, not an object", article(kindName(v.Kind())))
	}
	number := lookup(v, []string{"version"})
	if number != nil && number.Kind() != '0' && number.Kind() != 'n' {
		return fmt.Errorf("its version is %s, not a number", article(kindName(number.Kind())))
	}
	if n, err := strconv.ParseFloat(string(number), 64); err == nil && n > version {
		return fmt.Errorf("version %v is newer than this program, which knows %d", n, version)
	}
	return checkTypes(file, v)
}

func position(data []byte, offset int64) (line, column int) {
	before := data[:min(int(offset), len(data))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

// save writes a file as a whole or not at all, for its owner's eyes only. Of two that
// save at once the last one wins.
func save(file string, v jsontext.Value) error {
	data, err := jsontext.AppendFormat(nil, v, jsontext.Multiline(true), jsontext.WithIndent("  "))
	if err != nil {
		return &Error{File: file, Err: err}
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target // a link stays a link
	}
	if err := write(file, append(data, '\n')); err != nil {
		return &Error{File: file, Err: err}
	}
	return nil
}

func write(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".config-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
