package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/google/uuid"
)

// snapshot is a copy of a sandbox's folders.
type snapshot struct {
	ID        string    `json:"id"`
	SandboxID string    `json:"sandboxId"`
	Name      string    `json:"name,omitempty"`
	Status    status    `json:"status"`
	CreatedAt time.Time `json:"createdAt"`
	dir       string
}

// unsupported answers for a server that keeps no snapshots.
func (s *Server) unsupported(w http.ResponseWriter) bool {
	if s.opts.NoSnapshots {
		fail(w, http.StatusNotImplemented, "SNAPSHOT::NOT_IMPLEMENTED", "Snapshot management is not implemented yet.")
	}
	return s.opts.NoSnapshots
}

// ready returns a snapshot that sandboxes can be made from.
func (s *Server) ready(id string) *snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.snapshots[id]; found != nil && found.Status.State == "Ready" {
		return found
	}
	return nil
}

func (s *Server) postSnapshot(w http.ResponseWriter, r *http.Request, sb *sandbox) {
	if s.unsupported(w) {
		return
	}
	var in struct {
		Name string `json:"name"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in) // it may be empty
	if state := sb.describe().Status.State; state != "Running" {
		fail(w, http.StatusConflict, "SNAPSHOT::INVALID_SOURCE_STATE", "Sandbox is %s, not Running.", state)
		return
	}
	now := time.Now().UTC()
	taken := &snapshot{
		ID: uuid.NewString(), SandboxID: sb.id, Name: in.Name, CreatedAt: now,
		Status: status{State: "Creating", Reason: "snapshot_accepted", Since: now},
	}
	taken.dir = filepath.Join(s.dir, "snapshot-"+taken.ID)
	s.mu.Lock()
	s.snapshots[taken.ID] = taken
	answer := *taken
	s.mu.Unlock()
	s.later(sb, slowly, func() {
		state, reason := "Ready", "snapshot_ready"
		if err := copyTree(s.life, sb.dir, taken.dir); err != nil {
			state, reason = "Failed", fmt.Sprint("snapshot_capture_failed: ", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		taken.Status = status{State: state, Reason: reason, Since: time.Now().UTC()}
	})
	w.Header().Set("Location", "/v1/snapshots/"+taken.ID)
	reply(w, http.StatusAccepted, answer)
}

func (s *Server) listSnapshots(w http.ResponseWriter, r *http.Request) {
	if s.unsupported(w) {
		return
	}
	of, states := r.URL.Query().Get("sandboxId"), r.URL.Query()["state"]
	s.mu.Lock()
	var all []snapshot
	for _, found := range s.snapshots {
		if (of == "" || found.SandboxID == of) && (len(states) == 0 || slices.Contains(states, found.Status.State)) {
			all = append(all, *found)
		}
	}
	s.mu.Unlock()
	sort.Slice(all, func(i, j int) bool { return all[i].CreatedAt.Before(all[j].CreatedAt) })
	paginate(w, r, all)
}

func (s *Server) getSnapshot(w http.ResponseWriter, r *http.Request) {
	if s.unsupported(w) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.snapshots[r.PathValue("id")]
	if found == nil {
		fail(w, http.StatusNotFound, "SNAPSHOT::NOT_FOUND", "Snapshot %s not found.", r.PathValue("id"))
		return
	}
	reply(w, http.StatusOK, found)
}

func (s *Server) deleteSnapshot(w http.ResponseWriter, r *http.Request) {
	if s.unsupported(w) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.snapshots[r.PathValue("id")]
	switch {
	case found == nil:
		fail(w, http.StatusNotFound, "SNAPSHOT::NOT_FOUND", "Snapshot %s not found.", r.PathValue("id"))
	case found.Status.State == "Creating":
		fail(w, http.StatusConflict, "SNAPSHOT::INVALID_STATE", "Snapshot is being created.")
	default:
		for _, sb := range s.sandboxes {
			if sb.request.SnapshotID == found.ID {
				fail(w, http.StatusConflict, "SNAPSHOT::DELETE_CONFLICT", "Snapshot is used by sandbox %s.", sb.id)
				return
			}
		}
		delete(s.snapshots, found.ID)
		_ = os.RemoveAll(found.dir)
		w.WriteHeader(http.StatusNoContent)
	}
}

// copyTree copies a folder with all that makes it up.
func copyTree(ctx context.Context, from, to string) error {
	out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
