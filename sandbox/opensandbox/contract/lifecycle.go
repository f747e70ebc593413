package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// status is the state of a sandbox or a snapshot.
type status struct {
	State   string    `json:"state"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"lastTransitionAt"`
}

// info is a sandbox as the server tells of it.
type info struct {
	ID         string            `json:"id"`
	Image      map[string]any    `json:"image,omitempty"`
	SnapshotID string            `json:"snapshotId,omitempty"`
	Status     status            `json:"status"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	Entrypoint []string          `json:"entrypoint"`
	ExpiresAt  *time.Time        `json:"expiresAt,omitempty"`
	CreatedAt  time.Time         `json:"createdAt"`
}

type createRequest struct {
	Image          map[string]any    `json:"image"`
	SnapshotID     string            `json:"snapshotId"`
	Timeout        *int              `json:"timeout"`
	ResourceLimits map[string]string `json:"resourceLimits"`
	Env            map[string]string `json:"env"`
	Metadata       map[string]string `json:"metadata"`
	Entrypoint     []string          `json:"entrypoint"`
	NetworkPolicy  *struct {
		DefaultAction string           `json:"defaultAction"`
		Egress        []map[string]any `json:"egress"`
	} `json:"networkPolicy"`
	Volumes []struct {
		Name string `json:"name"`
		Host *struct {
			Path string `json:"path"`
		} `json:"host"`
		MountPath string `json:"mountPath"`
	} `json:"volumes"`
}

// lifecycle is the server's routes, at the root and below /v1.
func (s *Server) lifecycle() http.Handler {
	api := http.NewServeMux()
	api.HandleFunc("POST /sandboxes", s.postSandbox)
	api.HandleFunc("GET /sandboxes", s.listSandboxes)
	api.HandleFunc("GET /sandboxes/{id}", s.with(func(w http.ResponseWriter, r *http.Request, sb *sandbox) {
		reply(w, http.StatusOK, sb.describe())
	}))
	api.HandleFunc("DELETE /sandboxes/{id}", s.with(func(w http.ResponseWriter, r *http.Request, sb *sandbox) {
		s.remove(sb)
		w.WriteHeader(http.StatusNoContent)
	}))
	api.HandleFunc("PATCH /sandboxes/{id}/metadata", s.with(patchMetadata))
	api.HandleFunc("POST /sandboxes/{id}/pause", s.with(s.pause))
	api.HandleFunc("POST /sandboxes/{id}/resume", s.with(s.resume))
	api.HandleFunc("POST /sandboxes/{id}/renew-expiration", s.with(s.renew))
	api.HandleFunc("GET /sandboxes/{id}/endpoints/{port}", s.with(s.endpoint))
	api.HandleFunc("POST /sandboxes/{id}/snapshots", s.with(s.postSnapshot))
	api.HandleFunc("GET /snapshots", s.listSnapshots)
	api.HandleFunc("GET /snapshots/{id}", s.getSnapshot)
	api.HandleFunc("DELETE /snapshots/{id}", s.deleteSnapshot)
	api.HandleFunc("/sandboxes/{id}/proxy/{port}/{rest...}", s.with(s.proxy))

	open := http.NewServeMux()
	open.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusOK, map[string]string{"status": "healthy"})
	})
	open.HandleFunc("GET /egress/{id}/policy", s.with(s.egressPolicy))
	open.Handle("/", s.authorized(http.StripPrefix("", api)))
	open.Handle("/v1/", s.authorized(http.StripPrefix("/v1", api)))
	return requestID(open)
}

var exempt = regexp.MustCompile(`^(/v1)?/sandboxes/[^/]+/proxy/\d+(/|$)`)

func (s *Server) authorized(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch key := r.Header.Get("OPEN-SANDBOX-API-KEY"); {
		case s.opts.APIKey == "" || key == s.opts.APIKey || exempt.MatchString(r.URL.Path):
			h.ServeHTTP(w, r)
		case key == "":
			fail(w, http.StatusUnauthorized, "MISSING_API_KEY", "Authentication credentials are missing. Provide API key via OPEN-SANDBOX-API-KEY header.")
		default:
			fail(w, http.StatusUnauthorized, "INVALID_API_KEY", "Authentication credentials are invalid.")
		}
	})
}

// requestID echoes the request's, or gives it one.
func requestID(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-ID")
		if id == "" {
			id = uuid.NewString()
		}
		w.Header().Set("X-Request-ID", id)
		h.ServeHTTP(w, r)
	})
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, code int, kind, format string, args ...any) {
	reply(w, code, map[string]string{"code": kind, "message": fmt.Sprintf(format, args...)})
}

// invalid is how a body is refused that is not what the server's types call for.
func invalid(w http.ResponseWriter, kind, msg string, at ...string) {
	loc := append([]string{"body"}, at...)
	reply(w, http.StatusUnprocessableEntity, map[string]any{"detail": []any{map[string]any{"type": kind, "loc": loc, "msg": msg}}})
}

func (s *Server) sandbox(id string) *sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sandboxes[id]
}

// with looks up the sandbox that a request is about.
func (s *Server) with(h func(http.ResponseWriter, *http.Request, *sandbox)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		sb := s.sandbox(r.PathValue("id"))
		if sb == nil {
			fail(w, http.StatusNotFound, "DOCKER::SANDBOX_NOT_FOUND", "Sandbox %s not found.", r.PathValue("id"))
			return
		}
		h(w, r, sb)
	}
}

func (s *Server) postSandbox(w http.ResponseWriter, r *http.Request) {
	var in createRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		invalid(w, "json_invalid", "JSON decode error")
		return
	}
	if !s.valid(w, in) {
		return
	}
	sb, err := s.make(in)
	if err != nil {
		fail(w, http.StatusInternalServerError, "DOCKER::SANDBOX_START_FAILED", "%v", err)
		return
	}
	out := sb.describe()
	out.Image, out.SnapshotID = nil, "" // the answer has no source
	w.Header().Set("Location", "/v1/sandboxes/"+out.ID)
	reply(w, http.StatusAccepted, out)
}

// valid answers a request that is refused.
func (s *Server) valid(w http.ResponseWriter, in createRequest) bool {
	switch {
	case (in.Image == nil) == (in.SnapshotID == ""):
		invalid(w, "value_error", "Value error, Exactly one of image or snapshotId must be provided.")
	case in.Image != nil && len(in.Entrypoint) == 0:
		invalid(w, "value_error", "Value error, entrypoint is required when image is provided.")
	case in.ResourceLimits == nil:
		invalid(w, "value_error", "Value error, resourceLimits is required.")
	case in.Timeout != nil && *in.Timeout < 60:
		invalid(w, "greater_than_equal", "Input should be greater than or equal to 60", "timeout")
	case !validMetadata(w, in.Metadata):
	case in.NetworkPolicy != nil && s.opts.Egress == "":
		fail(w, http.StatusBadRequest, "SANDBOX::INVALID_PARAMETER", "egress.image must be configured when networkPolicy is provided.")
	case in.SnapshotID != "" && s.ready(in.SnapshotID) == nil:
		fail(w, http.StatusNotFound, "SNAPSHOT::NOT_FOUND", "Snapshot %s not found.", in.SnapshotID)
	default:
		return s.validVolumes(w, in)
	}
	return false
}

var (
	labelKey   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValue = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	volumeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

func validMetadata(w http.ResponseWriter, all map[string]string) bool {
	for key, value := range all {
		if strings.HasPrefix(key, "opensandbox.io/") || !labelKey.MatchString(key) || !labelValue.MatchString(value) {
			fail(w, http.StatusBadRequest, "SANDBOX::INVALID_METADATA_LABEL", "Metadata '%s': '%s' is invalid.", key, value)
			return false
		}
	}
	return true
}

func (s *Server) validVolumes(w http.ResponseWriter, in createRequest) bool {
	for _, v := range in.Volumes {
		allowed := func(prefix string) bool {
			prefix = strings.TrimSuffix(prefix, "/")
			return v.Host.Path == prefix || strings.HasPrefix(v.Host.Path, prefix+"/")
		}
		switch {
		case !volumeName.MatchString(v.Name):
			fail(w, http.StatusBadRequest, "VOLUME::INVALID_NAME", "Volume name '%s' is not a valid DNS label.", v.Name)
		case !strings.HasPrefix(v.MountPath, "/"):
			fail(w, http.StatusBadRequest, "VOLUME::INVALID_MOUNT_PATH", "Mount path '%s' must be absolute.", v.MountPath)
		case v.Host == nil:
			fail(w, http.StatusBadRequest, "VOLUME::UNSUPPORTED_BACKEND", "Only host volumes are supported.")
		case !filepath.IsAbs(v.Host.Path):
			fail(w, http.StatusBadRequest, "VOLUME::INVALID_HOST_PATH", "Host path '%s' must be absolute.", v.Host.Path)
		case !slices.ContainsFunc(s.opts.AllowedHostPaths, allowed):
			fail(w, http.StatusBadRequest, "VOLUME::HOST_PATH_NOT_ALLOWED", "Host path '%s' is not under any allowed prefix. Allowed prefixes: %v", v.Host.Path, s.opts.AllowedHostPaths)
		default:
			continue
		}
		return false
	}
	return true
}

func (s *Server) listSandboxes(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	wanted, err := url.ParseQuery(q.Get("metadata"))
	if err != nil {
		fail(w, http.StatusBadRequest, "INVALID_METADATA_FORMAT", "Invalid metadata format: %v", err)
		return
	}
	s.mu.Lock()
	var all []info
	for _, sb := range s.sandboxes {
		all = append(all, sb.describe())
	}
	s.mu.Unlock()
	all = slices.DeleteFunc(all, func(i info) bool {
		for key := range wanted {
			if i.Metadata[key] != wanted.Get(key) {
				return true
			}
		}
		return len(q["state"]) > 0 && !slices.Contains(q["state"], i.Status.State)
	})
	sort.Slice(all, func(i, j int) bool { return all[i].CreatedAt.Before(all[j].CreatedAt) })
	paginate(w, r, all)
}

func paginate[T any](w http.ResponseWriter, r *http.Request, all []T) {
	number := func(name string, missing, most int) (int, bool) {
		text := r.URL.Query().Get(name)
		if text == "" {
			return missing, true
		}
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= 1 && n <= most
	}
	page, ok := number("page", 1, 1<<30)
	size, fits := number("pageSize", 20, 200)
	if !ok || !fits {
		reply(w, http.StatusUnprocessableEntity, map[string]any{"detail": []any{map[string]any{"type": "greater_than_equal", "loc": []string{"query", "page"}, "msg": "Input is out of range"}}})
		return
	}
	pages := (len(all) + size - 1) / size
	items := append([]T{}, all[min((page-1)*size, len(all)):min(page*size, len(all))]...)
	reply(w, http.StatusOK, map[string]any{"items": items, "pagination": map[string]any{
		"page": page, "pageSize": size, "totalItems": len(all), "totalPages": pages, "hasNextPage": page < pages,
	}})
}

func patchMetadata(w http.ResponseWriter, r *http.Request, sb *sandbox) {
	var patch map[string]*string
	if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
		invalid(w, "json_invalid", "JSON decode error")
		return
	}
	added := map[string]string{}
	for key, value := range patch {
		added[key] = ""
		if value != nil {
			added[key] = *value
		}
	}
	if !validMetadata(w, added) {
		return
	}
	sb.mu.Lock()
	all := map[string]string{}
	for key, value := range sb.info.Metadata {
		all[key] = value
	}
	for key, value := range patch {
		if value == nil {
			delete(all, key)
		} else {
			all[key] = *value
		}
	}
	sb.info.Metadata = all
	sb.mu.Unlock()
	reply(w, http.StatusOK, sb.describe())
}

func (s *Server) pause(w http.ResponseWriter, _ *http.Request, sb *sandbox) {
	if !sb.move("Running", "Pausing") {
		fail(w, http.StatusConflict, "DOCKER::SANDBOX_NOT_RUNNING", "Sandbox is not in a running state.")
		return
	}
	s.later(sb, slowly, func() {
		sb.freeze(true)
		sb.move("Pausing", "Paused")
	})
	w.WriteHeader(http.StatusAccepted)
}

func (s *Server) resume(w http.ResponseWriter, _ *http.Request, sb *sandbox) {
	if !sb.move("Paused", "Resuming") {
		fail(w, http.StatusConflict, "DOCKER::SANDBOX_NOT_PAUSED", "Sandbox is not in a paused state.")
		return
	}
	s.later(sb, slowly, func() {
		sb.freeze(false)
		sb.move("Resuming", "Running")
	})
	w.WriteHeader(http.StatusAccepted)
}

func (s *Server) renew(w http.ResponseWriter, r *http.Request, sb *sandbox) {
	var in struct {
		ExpiresAt *time.Time `json:"expiresAt"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.ExpiresAt == nil {
		invalid(w, "missing", "Field required", "expiresAt")
		return
	}
	at := in.ExpiresAt.UTC()
	sb.mu.Lock()
	now := sb.info.ExpiresAt
	sb.mu.Unlock()
	switch {
	case !at.After(time.Now()):
		fail(w, http.StatusBadRequest, "DOCKER::INVALID_EXPIRATION", "New expiration time must be in the future.")
	case now == nil:
		fail(w, http.StatusConflict, "DOCKER::INVALID_EXPIRATION", "Sandbox has no automatic expiration.")
	case !at.After(*now):
		fail(w, http.StatusConflict, "DOCKER::EXPIRATION_NOT_EXTENDED", "New expiration time must be after the current expiresAt time.")
	default:
		reply(w, http.StatusOK, map[string]time.Time{"expiresAt": s.lease(sb, at)})
	}
}

func (s *Server) endpoint(w http.ResponseWriter, r *http.Request, sb *sandbox) {
	port, err := strconv.Atoi(r.PathValue("port"))
	if err != nil || port < 1 || port > 65535 {
		fail(w, http.StatusBadRequest, "DOCKER::INVALID_PORT", "Port must be between 1 and 65535.")
		return
	}
	q := r.URL.Query()
	viaProxy := q.Get("use_server_proxy") == "true"
	if viaProxy && q.Get("expires") != "" {
		fail(w, http.StatusBadRequest, "SANDBOX::INVALID_PARAMETER", "expires cannot be combined with use_server_proxy.")
		return
	}
	out := map[string]any{}
	switch {
	case port == egressPort:
		out["endpoint"] = s.addr + "/egress/" + sb.id
		out["headers"] = map[string]string{"OPENSANDBOX-EGRESS-AUTH": sb.token}
	case viaProxy:
		out["endpoint"] = fmt.Sprintf("%s/v1/sandboxes/%s/proxy/%d", s.addr, sb.id, port)
	case port == execdPort:
		out["endpoint"] = sb.addr
	default:
		out["endpoint"] = fmt.Sprintf("127.0.0.1:%d", port)
	}
	if port == execdPort {
		out["headers"] = map[string]string{tokenHeader: sb.token}
	}
	reply(w, http.StatusOK, out)
}

// egressPolicy is the guard of a sandbox's network.
func (s *Server) egressPolicy(w http.ResponseWriter, r *http.Request, sb *sandbox) {
	if r.Header.Get("OPENSANDBOX-EGRESS-AUTH") != sb.token {
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	if sb.request.NetworkPolicy == nil {
		panic(http.ErrAbortHandler) // nothing listens there
	}
	action := sb.request.NetworkPolicy.DefaultAction
	if action == "" {
		action = "deny"
	}
	reply(w, http.StatusOK, map[string]any{
		"status": "ok", "mode": action + "_all", "enforcementMode": s.opts.Egress,
		"policy": map[string]any{"defaultAction": action, "egress": sb.request.NetworkPolicy.Egress},
	})
}
