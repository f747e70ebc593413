package cli

import (
	"strings"
	"testing"
)

// The environment cannot break the command, and what is wrong with it is told without the
// values of it.
func TestExports(t *testing.T) {
	const at, secret = "http://collector:4318", "sk-secret-0123456789abcdef"
	for _, test := range []struct {
		vars            map[string]string
		traces, problem string // of the first of one
	}{
		{nil, at + "/v1/traces", ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": at + "/in/"}, at + "/in/v1/traces", ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": at + "/x?token=" + secret}, "", "no spans and metrics are sent: OTEL_EXPORTER_OTLP_ENDPOINT has a query"},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": at + "/in"}, at + "/in", ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}, at + "/v1/traces", "no metrics are sent: "},
		{map[string]string{"OTEL_TRACES_EXPORTER": "jaeger"}, "", "no spans are sent: "},
		{map[string]string{"OTEL_BSP_MAX_QUEUE_SIZE": "-1"}, at + "/v1/traces", "OTEL_BSP_MAX_QUEUE_SIZE is no number from 1"},
		{map[string]string{"OTEL_BSP_MAX_QUEUE_SIZE": "9999999999999"}, at + "/v1/traces", "OTEL_BSP_MAX_QUEUE_SIZE is no number from 1"},
		{map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "0"}, at + "/v1/traces", "OTEL_BSP_SCHEDULE_DELAY is no number from 1"},
		{map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=b,c=d%20e, "}, at + "/v1/traces", ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "Bearer " + secret}, at + "/v1/traces", "OTEL_EXPORTER_OTLP_HEADERS has something"},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "a=" + secret + "%zz"}, at + "/v1/traces", "OTEL_EXPORTER_OTLP_TRACES_HEADERS has something"},
		{map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": secret}, at + "/v1/traces", "OTEL_EXPORTER_OTLP_TIMEOUT is no number"},
		{map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": "telemetryenv_test.go"}, at + "/v1/traces", "OTEL_EXPORTER_OTLP_CERTIFICATE is not taken"},
		{map[string]string{"OTEL_METRIC_EXPORT_INTERVAL": "0"}, at + "/v1/traces", "OTEL_METRIC_EXPORT_INTERVAL is no number from 1"},
	} {
		a := &app{env: func(name string) string {
			if value, ok := test.vars[name]; ok || name != "OTEL_EXPORTER_OTLP_ENDPOINT" {
				return value
			}
			return at
		}}
		to := a.exports()
		var text string
		if len(to.problems) > 0 {
			text = to.problems[0].Error()
		}
		if to.traces != test.traces || len(to.problems) > 1 || !strings.HasPrefix(text, test.problem) || (text != "") != (test.problem != "") || strings.Contains(text, secret) {
			t.Errorf("%v: %q, %q", test.vars, to.traces, to.problems)
		}
	}
}
