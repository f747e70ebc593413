package contract

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
)

// upload is a file that waits to be added.
type upload struct{ name, text string }

func (s *Server) upload(r *http.Request) (any, *failure) {
	file, header, err := r.FormFile("file")
	if err != nil {
		return nil, violation("Field required", "missing", "body", "file")
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, invalid("%v", err)
	}
	id := s.id("upload") + path.Ext(header.Filename)
	s.uploads[id] = upload{header.Filename, string(data)}
	return map[string]any{"temp_file_id": id}, nil
}

// Uploads returns the names of the files that were uploaded.
func (s *Server) Uploads() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.uploads {
		names = append(names, u.name)
	}
	slices.Sort(names)
	return names
}

func (s *Server) addResource(r *http.Request) (any, *failure) {
	var in struct {
		Path         string   `json:"path"`
		Upload       string   `json:"temp_file_id"`
		To           string   `json:"to"`
		Parent       string   `json:"parent"`
		CreateParent bool     `json:"create_parent"`
		Reason       string   `json:"reason"`
		Instruction  string   `json:"instruction"`
		Wait         bool     `json:"wait"`
		Timeout      *float64 `json:"timeout"`
		Telemetry    any      `json:"telemetry"`
	}
	if f := decode(r, &in); f != nil {
		return nil, f
	}
	text, name, f := s.source(in.Path, in.Upload)
	if f != nil {
		return nil, f
	}
	to, f := s.resolve(in.To)
	if f != nil {
		return nil, f
	}
	if !strings.HasPrefix(to, "viking://resources/") && !strings.HasPrefix(to, s.home()+"/resources/") {
		return nil, &failure{"INVALID_URI", "Invalid URI: " + in.To + " (to must target resource content)", map[string]any{"uri": in.To}}
	}
	for _, u := range s.within(to) {
		delete(s.nodes, u)
	}
	if f := s.keep(to, name, text, in.Wait); f != nil {
		return nil, f
	}
	out := map[string]any{"status": "success", "root_uri": to, "source_path": name, "meta": map[string]any{}, "errors": []any{}}
	if in.Wait {
		out["queue_status"] = map[string]any{"pending": 0, "processing": 0, "completed": 1}
	} else {
		out["task_id"] = s.newTask("add_resource", to, func() map[string]any { return s.indexed(to) })
	}
	return out, nil
}

// keep makes files of a document, or of those in an archive.
func (s *Server) keep(to, name, text string, wait bool) *failure {
	if path.Ext(name) != ".zip" {
		for i, section := range sections(text) {
			s.put(fmt.Sprintf("%s/%02d_%s.md", to, i+1, strings.TrimSuffix(name, path.Ext(name))), section, wait)
		}
		return nil
	}
	z, err := zip.NewReader(strings.NewReader(text), int64(len(text)))
	if err != nil {
		return invalid("%v", err)
	}
	for _, f := range z.File {
		data, err := fs.ReadFile(z, f.Name)
		if err != nil {
			return invalid("%v", err)
		}
		s.put(to+"/"+f.Name, string(data), wait)
	}
	return nil
}

// source finds the text to add.
func (s *Server) source(address, id string) (text, name string, f *failure) {
	switch u, ok := s.uploads[id]; {
	case address == "" && id == "":
		return "", "", violation("Either 'path' or 'temp_file_id' must be provided", "value_error", "body")
	case ok:
		return u.text, u.name, nil
	case id != "":
		return "", "", notFound(id, "file")
	}
	text, ok := s.opts.Web[address]
	if !ok {
		return "", "", &failure{"INTERNAL", "Failed to fetch " + address, nil}
	}
	return text, path.Base(address), nil
}

// indexed has a folder be found.
func (s *Server) indexed(to string) map[string]any {
	for _, u := range s.within(to) {
		s.nodes[u].lag = 0
	}
	return map[string]any{"status": "success", "root_uri": to, "context_count": len(s.within(to))}
}

// sections are the parts of a Markdown document.
func sections(text string) []string {
	var list []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ") || len(list) == 0 {
			list = append(list, "")
		}
		list[len(list)-1] += line
	}
	return list
}
