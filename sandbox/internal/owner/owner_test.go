package owner

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

func TestGone(t *testing.T) {
	self := Self()
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	other := self
	other.Host = "elsewhere"
	dead := Process{self.Host, strconv.Itoa(ended.Process.Pid), ""}
	elsewhere := dead
	elsewhere.Host = "elsewhere"
	reused := self
	reused.Born = "0-before"
	for name, test := range map[string]struct {
		p    Process
		want bool
	}{
		"this process":                   {self, false},
		"one that has ended":             {dead, true},
		"one of another machine":         {elsewhere, false},
		"this number on another machine": {other, false},
		"one whose number was reused":    {reused, self.Born != ""},
		"nothing":                        {Process{}, false},
		"no number":                      {Process{self.Host, "x", ""}, false},
		"no process":                     {Process{self.Host, "0", ""}, false},
	} {
		if got := test.p.Gone(); got != test.want {
			t.Errorf("%s: gone is %v", name, got)
		}
	}
}
