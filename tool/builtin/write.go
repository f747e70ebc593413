package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/tool"
)

// WriteFile returns write_workspace_file. Writing the same again changes nothing more,
// so a call that may have happened can be repeated.
func WriteFile() *tool.Tool {
	type input struct {
		Path    string `json:"path" jsonschema:"path of the file in the workspace; missing folders are made"`
		Content string `json:"content" jsonschema:"the whole new content"`
	}
	type output struct {
		BytesWritten int `json:"bytes_written"`
	}
	t := tool.New("write_workspace_file", "Write a file of the workspace, replacing what was there.",
		func(ctx context.Context, in input) (output, error) {
			sb, name, err := on(ctx, in.Path)
			if err != nil {
				return output{}, err
			}
			return output{len(in.Content)}, failure(sb.WriteFile(ctx, name, []byte(in.Content)))
		})
	t.Class = effect.Idempotent
	t.Locks = tool.LocksOf(func(ctx context.Context, in input) ([]tool.Lock, error) { return writing(ctx, in.Path) })
	return t
}

// editLimit bounds the file that an edit loads.
const editLimit = 16 << 20

type editInput struct {
	Path string `json:"path" jsonschema:"path of the file in the workspace"`
	Old  string `json:"old" jsonschema:"the exact text to replace, unique in the file: take enough of what is around it"`
	New  string `json:"new" jsonschema:"what to put in its place"`
}

type editOutput struct {
	BytesWritten int `json:"bytes_written"`
	Line         int `json:"line"`
}

// EditFile returns edit_workspace_file.
func EditFile() *tool.Tool {
	t := tool.New("edit_workspace_file", "Replace one exact, unique piece of text in a file of the workspace.", edit)
	t.Locks = tool.LocksOf(func(ctx context.Context, in editInput) ([]tool.Lock, error) { return writing(ctx, in.Path) })
	return t
}

func edit(ctx context.Context, in editInput) (editOutput, error) {
	sb, name, err := on(ctx, in.Path)
	if err != nil {
		return editOutput{}, err
	}
	data, size, err := sb.ReadRange(ctx, name, 0, editLimit)
	if err != nil {
		return editOutput{}, failure(err)
	}
	if size > editLimit {
		return editOutput{}, fmt.Errorf("%s has %d bytes: edits stop at %d", in.Path, size, editLimit)
	}
	text, line, err := replace(string(data), in.Old, in.New)
	if err != nil {
		return editOutput{}, err
	}
	return editOutput{len(text), line}, failure(sb.WriteFile(ctx, name, []byte(text)))
}

// replace puts new in the place of the one old, and says on which line that was.
func replace(text, old, new string) (string, int, error) {
	if old == "" {
		return "", 0, &tool.Failure{Kind: tool.KindInvalidArguments, Message: "old is empty: there is nothing to replace"}
	}
	switch n := strings.Count(text, old); n {
	case 1:
	case 0:
		return "", 0, &tool.Failure{Kind: "text_not_found", Message: "old does not occur in the file", Detail: "it must be the same to the letter, blanks included"}
	default:
		return "", 0, &tool.Failure{
			Kind:    "text_not_unique",
			Message: fmt.Sprintf("old occurs %d times, on lines %s", n, strings.Join(linesOf(text, old, 10), ", ")),
			Detail:  "take more of what is around the place you mean",
		}
	}
	before, after, _ := strings.Cut(text, old)
	return before + new + after, 1 + strings.Count(before, "\n"), nil
}

func linesOf(text, old string, most int) []string {
	var lines []string
	line := 1
	for {
		before, after, ok := strings.Cut(text, old)
		if !ok {
			return lines
		}
		if len(lines) == most {
			return append(lines, "...")
		}
		line += strings.Count(before, "\n")
		lines = append(lines, fmt.Sprint(line))
		line += strings.Count(old, "\n")
		text = after
	}
}
