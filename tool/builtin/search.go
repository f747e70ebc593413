package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/tool"
)

// Search looks at no file longer than searchFile, shows lineLimit bytes of a line, and
// gives at most resultLimit results.
const (
	searchFile  = 4 << 20
	lineLimit   = 400
	resultLimit = 200
	findLimit   = 500
)

type findInput struct {
	Glob string `json:"glob" jsonschema:"pattern such as *.go or cmd/**/*_test.go; ** stands for any folders; without a slash it is matched in every folder"`
	Path string `json:"path,omitempty" jsonschema:"folder to look in; the workspace if omitted"`
}

type findOutput struct {
	Paths     []string `json:"paths"`
	Truncated bool     `json:"truncated,omitempty"`
	Skipped   []string `json:"skipped,omitempty"` // folders that may not be read
}

// FindFiles returns find_workspace_files. It leaves out .git and .openrath.
func FindFiles() *tool.Tool {
	t := tool.New("find_workspace_files", "Find files of the workspace by their names.", find)
	t.Class = effect.ReadOnly
	t.Locks = tool.LocksOf(func(ctx context.Context, in findInput) ([]tool.Lock, error) { return reading(ctx, orRoot(in.Path)) })
	return t
}

func find(ctx context.Context, in findInput) (findOutput, error) {
	if err := checkGlob(in.Glob); err != nil {
		return findOutput{}, err
	}
	out := findOutput{Paths: []string{}}
	w := walk{dir: in.Path, glob: in.Glob, skipped: &out.Skipped}
	err := w.files(ctx, func(_ *sandbox.Sandbox, e sandbox.Entry) error {
		if len(out.Paths) == findLimit {
			out.Truncated = true
			return fs.SkipAll
		}
		out.Paths = append(out.Paths, e.Path)
		return nil
	})
	return out, err
}

// walk goes through the files below a folder whose names match; an empty glob matches
// all. Paths in the pattern are relative to the folder.
type walk struct {
	dir, glob string
	skipped   *[]string // gets what may not be read
}

func (w walk) files(ctx context.Context, visit func(*sandbox.Sandbox, sandbox.Entry) error) error {
	sb, root, err := on(ctx, orRoot(w.dir))
	if err != nil {
		return err
	}
	return failure(sb.Walk(ctx, root, func(e sandbox.Entry, err error) error {
		below := e.Path
		if root != "." {
			below = strings.TrimPrefix(e.Path, root+"/")
		}
		switch {
		case err != nil:
			return w.pass(e, err)
		case e.IsDir && hidden(e.Name):
			return fs.SkipDir
		case e.IsDir, w.glob != "" && !matches(w.glob, below):
			return nil
		}
		return w.pass(e, visit(sb, e))
	}))
}

// pass goes on where only the one file or folder cannot be read: it may not, it has gone
// since, or there is nothing to read in it.
func (w walk) pass(e sandbox.Entry, err error) error {
	switch {
	case errors.Is(err, sandbox.ErrHidden), errors.Is(err, fs.ErrNotExist), errors.Is(err, sandbox.ErrNotRegular), errors.Is(err, sandbox.ErrEscape):
		return nil
	case errors.Is(err, fs.ErrPermission):
		*w.skipped = append(*w.skipped, e.Path)
		return nil
	}
	return err
}

type searchInput struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression (RE2)"`
	Path       string `json:"path,omitempty" jsonschema:"folder to look in; the workspace if omitted"`
	Glob       string `json:"glob,omitempty" jsonschema:"look only in files whose names match"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
}

type searchMatch struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

type searchOutput struct {
	Matches   []searchMatch `json:"matches"`
	Truncated bool          `json:"truncated,omitempty"`
	Skipped   []string      `json:"skipped,omitempty"` // too long to look at, or may not be read
}

// Search returns search_workspace. It leaves out .git, .openrath and binary files.
func Search() *tool.Tool {
	t := tool.New("search_workspace", "Search the files of the workspace for lines that match a regular expression.", search)
	t.Class = effect.ReadOnly
	t.Locks = tool.LocksOf(func(ctx context.Context, in searchInput) ([]tool.Lock, error) { return reading(ctx, orRoot(in.Path)) })
	return t
}

func search(ctx context.Context, in searchInput) (searchOutput, error) {
	pattern := in.Pattern
	if in.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return searchOutput{}, &tool.Failure{Kind: tool.KindInvalidArguments, Message: err.Error()}
	}
	if err := checkGlob(in.Glob); err != nil {
		return searchOutput{}, err
	}
	out := searchOutput{Matches: []searchMatch{}}
	w := walk{dir: in.Path, glob: in.Glob, skipped: &out.Skipped}
	err = w.files(ctx, func(sb *sandbox.Sandbox, e sandbox.Entry) error {
		if e.Size > searchFile {
			out.Skipped = append(out.Skipped, e.Path)
			return nil
		}
		data, err := sb.ReadFile(ctx, e.Path)
		if err != nil {
			return err
		}
		return out.lines(e.Path, data, re)
	})
	return out, err
}

// lines adds the matching lines of a text file, and stops the search when there are
// enough.
func (out *searchOutput) lines(name string, data []byte, re *regexp.Regexp) error {
	if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
		return nil // binary, by git's rule
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, searchFile+1)
	for n := 1; lines.Scan(); n++ {
		if !re.Match(lines.Bytes()) {
			continue
		}
		if len(out.Matches) == resultLimit {
			out.Truncated = true
			return fs.SkipAll
		}
		text := lines.Text()
		out.Matches = append(out.Matches, searchMatch{name, n, strings.ToValidUTF8(text[:min(len(text), lineLimit)], "")})
	}
	return nil
}
