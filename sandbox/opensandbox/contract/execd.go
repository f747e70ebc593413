package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"
)

const tokenHeader = "X-EXECD-ACCESS-TOKEN"

// execd is the daemon's routes.
func (sb *sandbox) execd() http.Handler {
	api := http.NewServeMux()
	api.HandleFunc("GET /ping", func(w http.ResponseWriter, r *http.Request) {})
	api.HandleFunc("POST /command", sb.postCommand)
	api.HandleFunc("DELETE /command", sb.deleteCommand)
	api.HandleFunc("GET /command/{first}/{second}", func(w http.ResponseWriter, r *http.Request) {
		switch first, second := r.PathValue("first"), r.PathValue("second"); {
		case first == "status":
			sb.commandStatus(w, second)
		case second == "logs":
			sb.commandLogs(w, r, first)
		default:
			http.NotFound(w, r)
		}
	})
	api.HandleFunc("POST /code", sb.postCode)
	api.HandleFunc("DELETE /code", sb.deleteCode)
	api.HandleFunc("POST /code/context", sb.postContext)
	api.HandleFunc("GET /code/contexts", sb.listContexts)
	api.HandleFunc("DELETE /code/contexts/{id}", sb.deleteContext)
	api.HandleFunc("GET /files/info", sb.filesInfo)
	api.HandleFunc("DELETE /files", sb.deleteFiles)
	api.HandleFunc("POST /files/permissions", sb.permissions)
	api.HandleFunc("POST /files/mv", sb.moveFiles)
	api.HandleFunc("GET /files/search", sb.searchFiles)
	api.HandleFunc("POST /files/replace", sb.replaceInFiles)
	api.HandleFunc("POST /files/upload", sb.upload)
	api.HandleFunc("GET /files/download", sb.download)
	api.HandleFunc("GET /directories/list", sb.listDirectory)
	api.HandleFunc("POST /directories", sb.makeDirectories)
	api.HandleFunc("DELETE /directories", sb.deleteDirectories)
	api.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) { reply(w, http.StatusOK, metrics()) })
	api.HandleFunc("GET /metrics/watch", watchMetrics)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case sb.describe().Status.State == "Pending", !sb.awake(r):
			panic(http.ErrAbortHandler)
		case r.Header.Get(tokenHeader) != sb.token:
			reply(w, http.StatusUnauthorized, map[string]string{"error": "Unauthorized: invalid or missing header " + tokenHeader})
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// badBody answers a body that cannot be read.
func badBody(w http.ResponseWriter, err error) {
	fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "error parsing request, MAYBE invalid body format. %v", err)
}

// decode reads a body, or answers that it cannot be read.
func decode(w http.ResponseWriter, r *http.Request, v any) bool {
	err := json.NewDecoder(r.Body).Decode(v)
	if err != nil {
		badBody(w, err)
	}
	return err == nil
}

func metrics() map[string]any {
	var total, free float64
	data, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(data)) {
		_, _ = fmt.Sscanf(line, "MemTotal: %f", &total)
		_, _ = fmt.Sscanf(line, "MemAvailable: %f", &free)
	}
	return map[string]any{
		"cpu_count": runtime.NumCPU(), "cpu_used_pct": 0.0,
		"mem_total_mib": total / 1024, "mem_used_mib": (total - free) / 1024, "timestamp": time.Now().UnixMilli(),
	}
}

// watchMetrics sends them every second, as bare objects.
func watchMetrics(w http.ResponseWriter, r *http.Request) {
	events := newEvents(w)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		events.send(metrics())
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		}
	}
}
