package docker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"

	"github.com/openrath-go/rath/sandbox/driver"
)

// spec is what a container is made with. It is kept with it, so that whoever attaches
// knows.
type spec struct {
	Image        string
	Dir          string `json:",omitzero"` // absolute, without symbolic links
	Named        string `json:",omitzero"` // absolute, as it was given
	Volume       string `json:",omitzero"`
	User         string
	ReadOnlyRoot bool          `json:",omitzero"`
	Rules        driver.Policy // settled
	Env          []string      `json:",omitzero"`
	Hidden       []string      `json:",omitzero"` // slash paths below Dir
}

// volumeUser is whom commands run as where no directory says whose files they are.
const volumeUser = "1000:1000"

var users = regexp.MustCompile(`^[0-9]+:[0-9]+$`)

func newSpec(o *Options) (s spec, err error) {
	s = spec{Image: o.Image, User: o.User, ReadOnlyRoot: o.ReadOnlyRoot, Env: o.Env}
	switch {
	case s.Image == "":
		return s, errors.New("no image is named")
	case s.User == "":
		s.User = defaultUser(o.Dir)
	case !users.MatchString(s.User):
		return s, fmt.Errorf("user %q: it must be numbers such as %s", s.User, volumeUser)
	}
	if s.Rules, err = settle(o.Policy); err != nil {
		return s, err
	}
	if o.Dir == "" {
		return s, nil
	}
	if err := s.bind(o.Dir); err != nil {
		return s, fmt.Errorf("directory %s: %w", o.Dir, err)
	}
	for _, name := range o.Hidden {
		s.hide(name)
	}
	return s, nil
}

func defaultUser(dir string) string {
	if dir == "" || runtime.GOOS == "windows" {
		return volumeUser
	}
	return fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid())
}

// bind takes a directory as the workspace.
func (s *spec) bind(dir string) (err error) {
	if s.Named, err = filepath.Abs(dir); err != nil {
		return err
	}
	if s.Dir, err = filepath.EvalSymlinks(s.Named); err != nil {
		return bare(err)
	}
	info, err := os.Stat(s.Dir)
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	return bare(err)
}

// bare takes off an error the path that its reader knows already.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// hide covers a name, and what it leads to if it is a link, as far as that is in the
// workspace.
func (s *spec) hide(name string) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.Dir, name)
	}
	dir, _ := filepath.EvalSymlinks(filepath.Dir(name))
	target, _ := filepath.EvalSymlinks(name)
	for _, name := range []string{filepath.Join(dir, filepath.Base(name)), target} {
		if rel, ok := s.inside(name); ok && rel != "." && !slices.Contains(s.Hidden, rel) {
			s.Hidden = append(s.Hidden, rel)
		}
	}
}

// inside returns the slash path below the workspace's directory, for what is there.
func (s *spec) inside(name string) (string, bool) {
	if s.Dir == "" || name == "" {
		return "", false
	}
	for _, dir := range []string{s.Dir, s.Named} {
		rel, err := filepath.Rel(dir, name)
		if err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// shown is where commands find a path of the policy.
func (s *spec) shown(name string) string {
	if rel, ok := s.inside(name); ok {
		return path.Join(Root, rel)
	}
	return filepath.ToSlash(name)
}

func (s *spec) label() (string, error) {
	data, err := json.Marshal(s)
	return string(data), err
}

func specOf(labels map[string]string) (s spec, err error) {
	if err := json.Unmarshal([]byte(labels[labelSpec]), &s); err != nil {
		return s, fmt.Errorf("its label %s: %w", labelSpec, err)
	}
	return s, nil
}
