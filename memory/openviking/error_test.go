package openviking

import (
	"net/http"
	"testing"
)

func FuzzError(f *testing.F) {
	f.Add(404, `{"status":"error","error":{"code":"NOT_FOUND","message":"Not Found"}}`)
	f.Add(400, `{"status":"error","error":{"code":"INVALID_ARGUMENT","message":"a","details":{"actual":"directory","validation_errors":[{"loc":["body","x"],"message":"m"},{"loc":["y",1],"message":"n"}]}}}`)
	f.Add(200, `{"error":null}`)
	f.Add(502, "bad gateway")
	f.Fuzz(func(t *testing.T, status int, body string) {
		e := apiError("GET /x", &http.Response{StatusCode: status, Header: http.Header{}}, []byte(body))
		_ = e.Hint()
		if e.Error() == "" || e.Status != status {
			t.Errorf("%d %q: %v", status, body, e)
		}
		if isFolder(e) && e.Code != "INVALID_ARGUMENT" || hasCode(e, "X") != (e.Code == "X") {
			t.Errorf("%d %q: %+v", status, body, e)
		}
	})
}

func TestValidationErrorsAreTold(t *testing.T) {
	e := apiError("POST /x", &http.Response{StatusCode: 400, Header: http.Header{"X-Request-Id": {"r1"}}}, []byte(`{"status":"error","error":{"code":"INVALID_ARGUMENT",
		"message":"Invalid request parameters: body.a: Extra inputs are not permitted",
		"details":{"validation_errors":[{"loc":["body","a"],"message":"Extra inputs are not permitted"},{"loc":["body","b"],"message":"Field required"}]}}}`))
	want := "POST /x: status 400: INVALID_ARGUMENT: Invalid request parameters: body.a: Extra inputs are not permitted; body b: Field required (request r1)"
	if e.Error() != want || e.Hint() == "" {
		t.Errorf("%v\nwant %v", e, want)
	}
}
