package evidence_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestBrowser opens the page from a file, in a browser without a network.
func TestBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes its time")
	}
	browser := findBrowser(t)
	st := openStore(t)
	id, _ := play(t, st)
	for name, page := range map[string][]byte{
		"story":   write(t, collect(t, st, id, nil), "html"),
		"fixture": write(t, newFixture(t).dossier(nil), "html"),
	} {
		file := filepath.Join(t.TempDir(), name+".html")
		if err := os.WriteFile(file, page, 0o644); err != nil {
			t.Fatal(err)
		}
		dom, log := dump(t, browser, file)
		for _, want := range map[string][]string{
			"story":   {"Which agent?", "Release 4.2 is ready", "gamble", "not on a Friday", "no such host: releases.invalid", "[redacted sha256:", "1 call of unknown price", "Is the chain intact?", "</svg>"},
			"fixture": {"Settled by people", "needs_review", "␛[31m[U+202E]gnp.exe", "0.03252", "local:notes", "memory://resources/bills.md/0001", "</html>"},
		}[name] {
			if !strings.Contains(dom, want) {
				t.Errorf("%s: the page does not show %q", name, want)
			}
		}
		if strings.Contains(log, "CONSOLE") {
			t.Errorf("%s: the browser complains: %s", name, log)
		}
		checkLinks(t, name, dom)
	}
}

func findBrowser(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium")
	return ""
}

// dump returns the page as the browser has built it, and what the browser says.
func dump(t *testing.T, browser, file string) (dom, log string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
		"--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+file)
	cmd.WaitDelay = time.Second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Skipf("the browser does not run here: %v", err)
	}
	return out.String(), errs.String()
}

var (
	anchors   = regexp.MustCompile(`\bid="([^"]*)"`)
	hrefs     = regexp.MustCompile(`\bhref="([^"]*)"`)
	resources = regexp.MustCompile(`\b(?:src|srcset|action|data|xlink:href)="([^"]*)"`)
)

// checkLinks wants that every link leads to a place in the page, and that nothing is
// loaded.
func checkLinks(t *testing.T, name, dom string) {
	t.Helper()
	ids := map[string]int{}
	for _, m := range anchors.FindAllStringSubmatch(dom, -1) {
		if ids[m[1]]++; ids[m[1]] == 2 {
			t.Errorf("%s: two elements are %q", name, m[1])
		}
	}
	for _, m := range hrefs.FindAllStringSubmatch(dom, -1) {
		anchor, within := strings.CutPrefix(m[1], "#")
		switch {
		case within && ids[anchor] == 0 && !strings.Contains(anchor, "%"):
			t.Errorf("%s: a link leads to %q, which is not there", name, anchor)
		case !within && !strings.HasPrefix(m[1], "data:application/json"):
			t.Errorf("%s: a link leads to %.80q", name, m[1])
		}
	}
	for _, m := range resources.FindAllStringSubmatch(dom, -1) {
		if !strings.HasPrefix(m[1], "data:image/") {
			t.Errorf("%s: it loads %.80q", name, m[1])
		}
	}
}
