package builtin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/tool"
)

// readLimit is how many characters one read gives, as in OpenRath.
const readLimit = 12_000

type readInput struct {
	Path     string  `json:"path" jsonschema:"path of the file in the workspace"`
	Encoding *string `json:"encoding,omitempty" jsonschema:"utf-8 (the default); null gives the bytes in base64"`
	Offset   int64   `json:"offset,omitempty" jsonschema:"byte to start from, as next_offset of a cut result has it"`
}

type readOutput struct {
	Data       string `json:"data"`
	Truncated  bool   `json:"truncated,omitempty"`
	NextOffset int64  `json:"next_offset,omitempty"`
	Size       int64  `json:"size_bytes,omitempty"`
}

// ReadFile returns read_workspace_file.
func ReadFile() *tool.Tool {
	t := tool.New("read_workspace_file", "Read a file of the workspace. A long file comes cut, with next_offset to read on from.", read)
	t.Class = effect.ReadOnly
	t.Locks = tool.LocksOf(func(ctx context.Context, in readInput) ([]tool.Lock, error) { return reading(ctx, in.Path) })
	return t
}

func read(ctx context.Context, in readInput) (readOutput, error) {
	sb, name, err := on(ctx, in.Path)
	if err != nil {
		return readOutput{}, err
	}
	if in.Encoding != nil && !isUTF8(*in.Encoding) {
		return readOutput{}, &tool.Failure{Kind: "unsupported", Message: fmt.Sprintf("the encoding %q is not known here", *in.Encoding), Detail: "use utf-8, or null for the bytes"}
	}
	if in.Offset < 0 {
		return readOutput{}, &tool.Failure{Kind: tool.KindInvalidArguments, Message: fmt.Sprintf("the offset %d is before the beginning of the file", in.Offset), Detail: "use the next_offset of a cut result"}
	}
	data, size, err := sb.ReadRange(ctx, name, in.Offset, readLimit*utf8.UTFMax)
	if err != nil {
		return readOutput{}, failure(err)
	}
	out := readOutput{}
	taken := 0
	if in.Encoding == nil {
		taken = min(len(data), readLimit/4*3)
		out.Data = base64.StdEncoding.EncodeToString(data[:taken])
	} else {
		taken = prefix(data, readLimit, in.Offset+int64(len(data)) == size)
		out.Data = strings.ToValidUTF8(string(data[:taken]), "\uFFFD")
	}
	if next := in.Offset + int64(taken); next < size {
		out.Truncated, out.NextOffset = true, next
	}
	if out.Truncated || in.Offset > 0 {
		out.Size = size
	}
	return out, nil
}

// UnmarshalJSON makes utf-8 of an absent encoding and nil of null, as OpenRath does.
func (in *readInput) UnmarshalJSON(data []byte) error {
	type plain readInput
	name := "utf-8"
	v := plain{Encoding: &name}
	err := json.Unmarshal(data, &v)
	*in = readInput(v)
	return err
}

func isUTF8(name string) bool {
	switch strings.ToLower(strings.ReplaceAll(name, "_", "-")) {
	case "utf-8", "utf8", "ascii", "us-ascii":
		return true
	}
	return false
}

// prefix returns how many bytes the first n characters take. Unless the data is whole, a
// character that its end may have cut is left for the next read.
func prefix(data []byte, n int, whole bool) int {
	i := 0
	for ; n > 0 && i < len(data); n-- {
		if !whole && !utf8.FullRune(data[i:]) {
			break
		}
		_, size := utf8.DecodeRune(data[i:])
		i += size
	}
	return i
}

// ListFiles returns list_workspace_files.
func ListFiles() *tool.Tool {
	type input struct {
		Path string `json:"path" jsonschema:"path of the folder in the workspace, . for its root"`
	}
	t := tool.New("list_workspace_files", "List the files and folders directly in a folder of the workspace.",
		func(ctx context.Context, in input) (listOutput, error) { return list(ctx, in.Path) })
	t.Class = effect.ReadOnly
	t.Locks = tool.LocksOf(func(ctx context.Context, in input) ([]tool.Lock, error) { return reading(ctx, orRoot(in.Path)) })
	return t
}

// listLimit is how many entries one list gives, as in OpenRath.
const listLimit = 500

type listEntry struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	IsDir bool   `json:"is_dir"`
}

type listOutput struct {
	Entries   []listEntry `json:"entries"`
	Truncated bool        `json:"truncated,omitempty"`
	Total     int         `json:"total,omitempty"`
}

func list(ctx context.Context, dir string) (listOutput, error) {
	sb, name, err := on(ctx, orRoot(dir))
	if err != nil {
		return listOutput{}, err
	}
	entries, err := sb.List(ctx, name)
	if err != nil {
		return listOutput{}, failure(err)
	}
	out := listOutput{Entries: []listEntry{}}
	if len(entries) > listLimit {
		out.Truncated, out.Total = true, len(entries)
		entries = entries[:listLimit]
	}
	for _, e := range entries {
		out.Entries = append(out.Entries, entryOf(e))
	}
	return out, nil
}

func entryOf(e sandbox.Entry) listEntry { return listEntry{e.Name, e.Path, e.IsDir} }

// PathExists returns workspace_path_exists.
func PathExists() *tool.Tool {
	type input struct {
		Path string `json:"path" jsonschema:"path in the workspace"`
	}
	type output struct {
		Exists bool `json:"exists"`
	}
	t := tool.New("workspace_path_exists", "Tell whether a file or folder exists in the workspace.",
		func(ctx context.Context, in input) (output, error) {
			sb, name, err := on(ctx, in.Path)
			if err != nil {
				return output{}, err
			}
			ok, err := sb.Exists(ctx, name)
			return output{ok}, failure(err)
		})
	t.Class = effect.ReadOnly
	t.Locks = tool.LocksOf(func(ctx context.Context, in input) ([]tool.Lock, error) { return reading(ctx, in.Path) })
	return t
}
