package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// readResults yields what rath batch has written to a file. The last line may be cut off, as a
// process leaves it that was killed: it is passed over, and torn is its number.
func readResults(file string, each func(batchResult)) (torn int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n := 0
	for line, err := range linesOf(f) {
		n++
		if err == nil && len(line) == 0 {
			continue
		}
		if torn > 0 { // and it is not the last one
			return 0, usage(fmt.Errorf("%s:%d: %w", file, torn, io.ErrUnexpectedEOF))
		}
		var result batchResult
		if err == nil {
			result, err = parseResult(line)
		}
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			torn = n
		case err != nil:
			return 0, usage(fmt.Errorf("%s:%d: %w", file, n, err))
		default:
			each(result)
		}
	}
	return torn, nil
}

// parseResult reads a line. The error is [io.ErrUnexpectedEOF] where it is the beginning of an
// object.
func parseResult(line []byte) (result batchResult, err error) {
	if err := json.Unmarshal(line, &result); err != nil {
		cut := json.NewDecoder(bytes.NewReader(line)).Decode(new(json.RawMessage))
		if line[0] == '{' && errors.Is(cut, io.ErrUnexpectedEOF) {
			return result, cut
		}
		return result, err
	}
	if result.Status != statusDone && result.Status != statusFailed {
		return result, errors.New("it is no result of a line")
	}
	return result, nil
}

// doneIn are the ids of what is done by a file of results; none without a file.
func (a *app) doneIn(file string) (map[string]bool, error) {
	if file == "" {
		return nil, nil
	}
	done := map[string]bool{}
	torn, err := readResults(file, func(r batchResult) {
		if r.Status == statusDone {
			done[r.ID] = true
		}
	})
	if err != nil {
		return nil, &hinted{fmt.Errorf("read --skip: %w", err), "it takes the results that rath batch has written"}
	}
	if torn > 0 {
		fmt.Fprintln(a.err, printable(fmt.Sprintf("note: %s:%d is cut off: that line is not taken as done", file, torn)))
	}
	return done, nil
}

// onlyResults refuses to write results over something else.
func onlyResults(out string) error {
	if at, err := os.Stat(out); err != nil || !at.Mode().IsRegular() {
		return nil // there is nothing to lose; whoever opens it says what is wrong
	}
	if _, err := readResults(out, func(batchResult) {}); err != nil {
		return &hinted{fmt.Errorf("write the results of the batch anew: something else is there: %w", err), "move the file away"}
	}
	return nil
}
