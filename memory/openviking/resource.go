package openviking

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/openrath-go/rath/memory/driver"
)

// maxUpload is how long a document may be that is uploaded, in bytes.
const maxUpload = 256 << 20

// Resource is a document for the server to read. One of Path and Upload is set.
type Resource struct {
	Path   string `json:"path,omitempty"`         // an address
	Upload string `json:"temp_file_id,omitempty"` // of [Client.Upload]
	To     string `json:"to"`                     // where it will be
}

// Added is what became of a document.
type Added struct {
	Status   string   `json:"status"`
	Root     string   `json:"root_uri"`
	Task     string   `json:"task_id"`
	Errors   []any    `json:"errors"`
	Warnings []string `json:"warnings"`
}

// AddResource has the server read a document. It can be found when its task is done.
func (c *Client) AddResource(ctx context.Context, in Resource) (a Added, err error) {
	r, err := post("/api/v1/resources", in)
	if err != nil {
		return a, err
	}
	r.long = true
	return a, c.call(ctx, r, &a)
}

// Upload brings a file to the server, and returns the id that AddResource takes it by.
func (c *Client) Upload(ctx context.Context, name string, data []byte) (string, error) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return "", fmt.Errorf("upload %s: %w", name, err)
	}
	r := request{method: "POST", path: "/api/v1/resources/temp_upload", body: body.Bytes(), kind: w.FormDataContentType(), long: true}
	var out struct {
		ID string `json:"temp_file_id"`
	}
	err = c.call(ctx, r, &out)
	if err == nil && out.ID == "" {
		err = fmt.Errorf("%s: the server names no file", r)
	}
	return out.ID, err
}

// Ingest has the server read a document into notes below its URI, in place of what it read
// there before. Files and folders of this machine are uploaded; an address is fetched by
// the server itself.
func (s *store) Ingest(ctx context.Context, r driver.Resource) (driver.Ingested, error) {
	defer s.leave()
	if err := s.enter(); err != nil {
		return driver.Ingested{}, err
	}
	to, err := s.names.folder(r.URI)
	if err != nil {
		return driver.Ingested{}, err
	}
	in := Resource{To: to}
	if r.Data == nil && isAddress(r.Name) {
		if err := s.opts.fetchable(r.Name); err != nil {
			return driver.Ingested{}, err
		}
		in.Path = r.Name
	} else if in.Upload, err = s.upload(ctx, r); err != nil {
		return driver.Ingested{}, err
	}
	added, err := s.client.AddResource(ctx, in)
	if err == nil && r.Wait && added.Task != "" {
		_, err = s.client.Wait(ctx, added.Task)
	}
	if err != nil {
		return driver.Ingested{}, err
	}
	return s.ingested(ctx, r, added)
}

// ingested counts what a document has become.
func (s *store) ingested(ctx context.Context, r driver.Resource, added Added) (driver.Ingested, error) {
	out := driver.Ingested{URI: r.URI, Files: 1, Skipped: added.Warnings}
	for _, e := range added.Errors {
		out.Skipped = append(out.Skipped, s.client.redact(fmt.Sprint(e)))
	}
	root := added.Root
	if u, ok := s.names.local(root); ok {
		out.URI = u
	}
	files, err := s.client.Tree(ctx, root)
	switch {
	case hasCode(err, "FAILED_PRECONDITION"): // it is a file
		out.Notes, err = 1, nil
	case hasCode(err, "NOT_FOUND") && !r.Wait: // it is still being fetched
		err = nil
	}
	for _, f := range files {
		if !f.IsDir {
			out.Notes++
		}
	}
	return out, err
}

// upload brings a document to the server.
func (s *store) upload(ctx context.Context, r driver.Resource) (string, error) {
	name, data := uploadName(r), r.Data
	if data == nil {
		info, err := os.Stat(r.Name)
		if err == nil && info.IsDir() {
			name += ".zip"
			data, err = zipped(os.DirFS(r.Name))
		} else if err == nil {
			data, err = readAll(r.Name)
		}
		if err != nil {
			return "", fmt.Errorf("upload %s: %w: %w", r.Name, driver.ErrInvalid, err)
		}
	}
	if len(data) > maxUpload {
		return "", fmt.Errorf("upload %s: %w: it has more than %d bytes", r.Name, driver.ErrInvalid, maxUpload)
	}
	return s.client.Upload(ctx, name, data)
}

// uploadName is a file's name, whose extension tells the server how to read it.
func uploadName(r driver.Resource) string {
	name := path.Base(filepath.ToSlash(r.Name))
	if abs, err := filepath.Abs(r.Name); err == nil && r.Data == nil {
		name = filepath.Base(abs)
	}
	if r.Name == "" || name == "." || name == "/" {
		name = r.URI.Base()
	}
	if r.Data != nil && path.Ext(name) == "" {
		name += extension(r.MIME)
	}
	return name
}

func extension(kind string) string {
	switch kind, _, _ = mime.ParseMediaType(kind); kind {
	case "text/markdown":
		return ".md"
	case "", "text/plain":
		return ".txt"
	}
	if all, _ := mime.ExtensionsByType(kind); len(all) > 0 {
		return all[0]
	}
	return ""
}

// readAll reads a file, up to a byte more than may be uploaded.
func readAll(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxUpload+1))
}

// passed are folders whose files were written by nobody here.
const passed = " node_modules vendor bower_components __pycache__ "

// zipped packs a folder, without links, hidden files and what others wrote.
func zipped(dir fs.FS) ([]byte, error) {
	var body bytes.Buffer
	total := int64(0)
	w := zip.NewWriter(&body)
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && (strings.HasPrefix(d.Name(), ".") || d.IsDir() && strings.Contains(passed, " "+d.Name()+" ")):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		n, err := pack(w, dir, name)
		if total += n; err == nil && total > maxUpload {
			err = fmt.Errorf("the folder has more than %d bytes", maxUpload)
		}
		return err
	})
	if err == nil {
		err = w.Close()
	}
	return body.Bytes(), err
}

// pack adds a file to an archive.
func pack(w *zip.Writer, dir fs.FS, name string) (int64, error) {
	f, err := dir.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	to, err := w.Create(name)
	if err != nil {
		return 0, err
	}
	return io.Copy(to, io.LimitReader(f, maxUpload+1))
}
