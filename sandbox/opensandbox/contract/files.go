package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// fileInfo is a file as the daemon tells of it. The mode is written as a decimal number
// that looks like the octal one.
type fileInfo struct {
	Path     string    `json:"path"`
	Type     string    `json:"type"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified_at"`
	Created  time.Time `json:"created_at"`
	Owner    string    `json:"owner"`
	Group    string    `json:"group"`
	Mode     int       `json:"mode"`
}

type permission struct {
	Mode int `json:"mode"`
}

// perm reads 644 as 0o644; 0 is none.
func (p permission) perm() (fs.FileMode, error) {
	n, err := strconv.ParseUint(strconv.Itoa(p.Mode), 8, 32)
	return fs.FileMode(n), err
}

func describe(name string, info fs.FileInfo) fileInfo {
	kind := "other"
	switch info.Mode().Type() {
	case 0:
		kind = "file"
	case fs.ModeDir:
		kind = "directory"
	case fs.ModeSymlink:
		kind = "symlink"
	}
	mode, _ := strconv.Atoi(strconv.FormatUint(uint64(info.Mode().Perm()), 8))
	return fileInfo{name, kind, info.Size(), info.ModTime(), info.ModTime(), "root", "root", mode}
}

func failFile(w http.ResponseWriter, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		fail(w, http.StatusNotFound, "FILE_NOT_FOUND", "file not found. %v", err)
	} else {
		fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error accessing file: %v", err)
	}
}

func (sb *sandbox) filesInfo(w http.ResponseWriter, r *http.Request) {
	out := map[string]fileInfo{}
	for _, name := range r.URL.Query()["path"] {
		info, err := os.Lstat(sb.host(name))
		if err != nil {
			failFile(w, err)
			return
		}
		out[name] = describe(name, info)
	}
	reply(w, http.StatusOK, out)
}

// deleteFiles follows links, takes one that leads nowhere for a file that is not there, and
// what is not there for removed.
func (sb *sandbox) deleteFiles(w http.ResponseWriter, r *http.Request) {
	for _, name := range r.URL.Query()["path"] {
		info, err := os.Stat(sb.host(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && info.IsDir():
			err = fmt.Errorf("path is a directory: %s", name)
		case err == nil:
			err = os.Remove(sb.host(name))
		}
		if err != nil {
			fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error removing file %s. %v", name, err)
			return
		}
	}
}

func (sb *sandbox) permissions(w http.ResponseWriter, r *http.Request) {
	var in map[string]permission
	if !decode(w, r, &in) {
		return
	}
	for name, p := range in {
		if err := sb.chmod(name, p); err != nil {
			fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error changing permissions for %s. %v", name, err)
			return
		}
	}
}

func (sb *sandbox) chmod(name string, p permission) error {
	mode, err := p.perm()
	if err != nil || mode == 0 {
		return err
	}
	return os.Chmod(sb.host(name), mode)
}

// moveFiles renames nothing to a name that is taken.
func (sb *sandbox) moveFiles(w http.ResponseWriter, r *http.Request) {
	var in []struct{ Src, Dest string }
	if !decode(w, r, &in) {
		return
	}
	for _, move := range in {
		from, to := sb.host(move.Src), sb.host(move.Dest)
		_, err := os.Stat(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if _, taken := os.Stat(to); err == nil && taken == nil {
			err = fmt.Errorf("destination path already exists: %s", move.Dest)
		}
		if err == nil {
			err = os.Rename(from, to)
		}
		if err != nil {
			failFile(w, err)
			return
		}
	}
}

func (sb *sandbox) searchFiles(w http.ResponseWriter, r *http.Request) {
	root, pattern := r.URL.Query().Get("path"), r.URL.Query().Get("pattern")
	if root == "" {
		fail(w, http.StatusBadRequest, "MISSING_QUERY", "missing query parameter 'path'")
		return
	}
	if _, err := os.Stat(sb.host(root)); err != nil {
		failFile(w, err)
		return
	}
	if pattern == "" {
		pattern = "**"
	}
	pattern = path.Base(pattern) // the real one matches names, not paths
	found := []fileInfo{}
	err := filepath.WalkDir(sb.host(root), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if ok, err := path.Match(pattern, d.Name()); err != nil || !ok {
			return err
		}
		info, err := d.Info()
		if err == nil {
			rel, _ := filepath.Rel(sb.host(root), file)
			found = append(found, describe(path.Join(root, rel), info))
		}
		return err
	})
	if err != nil {
		fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error searching files. %v", err)
		return
	}
	reply(w, http.StatusOK, found)
}

func (sb *sandbox) replaceInFiles(w http.ResponseWriter, r *http.Request) {
	var in map[string]struct{ Old, New string }
	if !decode(w, r, &in) {
		return
	}
	counts := map[string]map[string]int{}
	for name, item := range in {
		if item.Old == "" {
			fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "old content must not be empty")
			return
		}
		data, err := os.ReadFile(sb.host(name))
		if err == nil {
			err = os.WriteFile(sb.host(name), []byte(strings.ReplaceAll(string(data), item.Old, item.New)), 0o644)
		}
		if err != nil {
			failFile(w, err)
			return
		}
		counts[name] = map[string]int{"replacedCount": strings.Count(string(data), item.Old)}
	}
	if r.URL.Query().Get("verbose") == "true" {
		reply(w, http.StatusOK, counts)
	}
}

// upload takes pairs of a file that describes and one that is uploaded. A part without a
// name for its file is none.
func (sb *sandbox) upload(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseMultipartForm(32 << 20); err != nil {
		fail(w, http.StatusBadRequest, "INVALID_FILE", "multipart form is empty")
		return
	}
	defer func() { _ = r.MultipartForm.RemoveAll() }()
	meta, files := r.MultipartForm.File["metadata"], r.MultipartForm.File["file"]
	switch {
	case len(meta) == 0:
		fail(w, http.StatusBadRequest, "INVALID_FILE_METADATA", "metadata file is missing")
		return
	case len(files) == 0:
		fail(w, http.StatusBadRequest, "INVALID_FILE_CONTENT", "file is missing")
		return
	case len(meta) != len(files):
		fail(w, http.StatusBadRequest, "INVALID_FILE", "metadata and file count mismatch: %d vs %d", len(meta), len(files))
		return
	}
	for i := range meta {
		data, err := content(meta[i])
		var m struct {
			Path string `json:"path"`
			permission
		}
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil || m.Path == "" {
			fail(w, http.StatusBadRequest, "INVALID_FILE_METADATA", "invalid metadata format. %v", err)
			return
		}
		if err := sb.write(m.Path, m.permission, files[i]); err != nil {
			fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error writing file %s. %v", m.Path, err)
			return
		}
	}
}

func content(h *multipart.FileHeader) ([]byte, error) {
	f, err := h.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// write writes in place.
func (sb *sandbox) write(name string, p permission, h *multipart.FileHeader) error {
	from, err := h.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	file := sb.host(name)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o777)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	return sb.chmod(name, p)
}

func (sb *sandbox) download(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("path") == "" {
		fail(w, http.StatusBadRequest, "MISSING_QUERY", "missing query parameter 'path'")
		return
	}
	f, err := os.Open(sb.host(q.Get("path")))
	if err != nil {
		failFile(w, err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		failFile(w, err)
		return
	}
	if q.Has("offset") || q.Has("limit") {
		downloadLines(w, r, f)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", path.Base(q.Get("path"))))
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// downloadLines answers with lines, counted from 1.
func downloadLines(w http.ResponseWriter, r *http.Request, f io.Reader) {
	data, err := io.ReadAll(f)
	if err != nil || r.Header.Get("Range") != "" {
		fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "offset and limit are mutually exclusive with Range")
		return
	}
	lines := strings.SplitAfter(string(data), "\n")
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	lines = lines[min(max(offset, 1)-1, len(lines)):]
	if limit, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil {
		lines = lines[:min(max(limit, 0), len(lines))]
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, strings.Join(lines, ""))
}

// listDirectory descends into no links, and refuses to begin with one.
func (sb *sandbox) listDirectory(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("path")
	if name == "" {
		fail(w, http.StatusBadRequest, "MISSING_QUERY", "missing query parameter 'path'")
		return
	}
	depth := 1
	if text := r.URL.Query().Get("depth"); text != "" {
		var err error
		if depth, err = strconv.Atoi(text); err != nil || depth < 0 {
			fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "invalid query parameter 'depth': %s", text)
			return
		}
	}
	info, err := os.Lstat(sb.host(name))
	switch {
	case err != nil:
		failFile(w, err)
		return
	case info.Mode()&fs.ModeSymlink != 0:
		fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "path is a symbolic link, refusing to traverse: %s", name)
		return
	case !info.IsDir():
		fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "path is not a directory: %s", name)
		return
	}
	found, err := sb.list(name, depth)
	if err != nil {
		fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error listing directory %s. %v", name, err)
		return
	}
	reply(w, http.StatusOK, found)
}

func (sb *sandbox) list(name string, depth int) ([]fileInfo, error) {
	all := []fileInfo{}
	if depth == 0 {
		return all, nil
	}
	entries, err := os.ReadDir(sb.host(name))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		at := path.Join(name, e.Name())
		all = append(all, describe(at, info))
		if e.IsDir() {
			below, err := sb.list(at, depth-1)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}

func (sb *sandbox) makeDirectories(w http.ResponseWriter, r *http.Request) {
	var in map[string]permission
	if !decode(w, r, &in) {
		return
	}
	for name, p := range in {
		err := os.MkdirAll(sb.host(name), 0o777)
		if err == nil {
			err = sb.chmod(name, p)
		}
		if err != nil {
			failFile(w, err)
			return
		}
	}
}

func (sb *sandbox) deleteDirectories(w http.ResponseWriter, r *http.Request) {
	for _, name := range r.URL.Query()["path"] {
		if err := os.RemoveAll(sb.host(name)); err != nil {
			fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error removing directory %s. %v", name, err)
			return
		}
	}
}
