package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// otlp is what the names of the exporters' variables begin with.
const otlp = "OTEL_EXPORTER_OTLP_"

// exports are the addresses that spans and metrics go to; empty: nowhere.
type exports struct {
	traces, metrics string
	spans           []sdktrace.BatchSpanProcessorOption
	problems        []error // with the environment; they have no values of it
}

// exports reads the environment as OpenTelemetry says, but that without an endpoint nothing
// is sent. What the SDK would panic over, or print with a value that may be secret, is
// looked at here.
func (a *app) exports() (to exports) {
	if strings.EqualFold(a.env("OTEL_SDK_DISABLED"), "true") {
		return to
	}
	var spans, metrics error
	to.traces, spans = a.exportsTo("TRACES", "/v1/traces")
	to.metrics, metrics = a.exportsTo("METRICS", "/v1/metrics")
	to.refuse(spans, metrics)
	if to.traces != "" {
		to.batches(a.env)
		to.check(a.env, "TRACES_")
	}
	if to.metrics != "" {
		to.number(a.env, "OTEL_METRIC_EXPORT_INTERVAL", 60000, 1, math.MaxInt32)
		to.number(a.env, "OTEL_METRIC_EXPORT_TIMEOUT", 30000, 1, math.MaxInt32)
		to.check(a.env, "METRICS_")
	}
	if to.traces+to.metrics != "" {
		to.check(a.env, "")
	}
	return to
}

// refuse says which signals go nowhere, though an endpoint is named.
func (to *exports) refuse(spans, metrics error) {
	if spans != nil && metrics != nil && spans.Error() == metrics.Error() {
		to.problem("no spans and metrics are sent: %w", spans)
		return
	}
	if spans != nil {
		to.problem("no spans are sent: %w", spans)
	}
	if metrics != nil {
		to.problem("no metrics are sent: %w", metrics)
	}
}

func (to *exports) problem(format string, args ...any) {
	to.problems = append(to.problems, fmt.Errorf(format, args...))
}

// exportsTo returns where one signal goes.
func (a *app) exportsTo(signal, path string) (string, error) {
	name, address := otlp+signal+"_ENDPOINT", a.env(otlp+signal+"_ENDPOINT")
	if address != "" {
		path = ""
	} else if name, address = otlp+"ENDPOINT", a.env(otlp+"ENDPOINT"); address == "" {
		return "", nil
	}
	switch exporter := "OTEL_" + signal + "_EXPORTER"; a.env(exporter) {
	case "", "otlp":
	case "none":
		return "", nil
	default:
		return "", fmt.Errorf("%s is %q, and rath knows otlp and none", exporter, a.env(exporter))
	}
	protocol := a.env(otlp + signal + "_PROTOCOL")
	if protocol == "" {
		protocol = a.env(otlp + "PROTOCOL")
	}
	if protocol != "" && protocol != "http/protobuf" {
		return "", fmt.Errorf("the OTLP protocol is %q, and rath speaks http/protobuf, by default on port 4318", protocol)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s is no address that begins with http:// or https://", name)
	}
	if u.RawQuery != "" { // the exporter would leave it out
		return "", fmt.Errorf("%s has a query, which OTLP has no place for; a key belongs into %sHEADERS", name, otlp)
	}
	if path != "" {
		u = u.JoinPath(path)
	}
	return u.String(), nil
}

// maxSpans is how many spans may wait to be sent: their places are allocated at once.
const maxSpans = 1 << 20

// batches reads how spans are put together. The SDK takes any number: sizes below zero are
// a panic, and delays of zero keep a processor busy.
func (to *exports) batches(env func(string) string) {
	queue := to.number(env, "OTEL_BSP_MAX_QUEUE_SIZE", sdktrace.DefaultMaxQueueSize, 1, maxSpans)
	size := to.number(env, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", sdktrace.DefaultMaxExportBatchSize, 1, maxSpans)
	delay := to.number(env, "OTEL_BSP_SCHEDULE_DELAY", sdktrace.DefaultScheduleDelay, 1, math.MaxInt32)
	timeout := to.number(env, "OTEL_BSP_EXPORT_TIMEOUT", sdktrace.DefaultExportTimeout, 0, math.MaxInt32)
	to.spans = []sdktrace.BatchSpanProcessorOption{
		sdktrace.WithMaxQueueSize(queue), sdktrace.WithMaxExportBatchSize(min(size, queue)),
		sdktrace.WithBatchTimeout(time.Duration(delay) * time.Millisecond), sdktrace.WithExportTimeout(time.Duration(timeout) * time.Millisecond),
	}
}

// number reads a variable. What is no number within the bounds is not taken.
func (to *exports) number(env func(string) string, name string, fallback, least, most int) int {
	value := env(name)
	if value == "" {
		return fallback
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		to.problem("%s is no number from %d to %d: %d is taken", name, least, most, fallback)
		return fallback
	}
	return n
}

// check looks at the variables of an exporter that the SDK leaves out when they are wrong,
// and says so with their values.
func (to *exports) check(env func(string) string, signal string) {
	prefix := otlp + signal
	to.number(env, prefix+"TIMEOUT", 10000, 0, math.MaxInt32)
	for header := range strings.SplitSeq(env(prefix+"HEADERS"), ",") {
		if strings.TrimSpace(header) != "" && !isHeader(header) {
			to.problem("%sHEADERS has something that is not NAME=VALUE with %%-escapes: it is left out", prefix)
			break
		}
	}
	if file := env(prefix + "CERTIFICATE"); file != "" {
		if err := readCertificates(file); err != nil {
			to.problem("%sCERTIFICATE is not taken: %w", prefix, err)
		}
	}
	cert, key := env(prefix+"CLIENT_CERTIFICATE"), env(prefix+"CLIENT_KEY")
	if cert != "" && key != "" {
		if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
			to.problem("%sCLIENT_CERTIFICATE is not taken: %w", prefix, err)
		}
	}
}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func isHeader(text string) bool {
	name, value, ok := strings.Cut(text, "=")
	_, err := url.PathUnescape(value)
	return ok && err == nil && headerName.MatchString(strings.TrimSpace(name))
}

func readCertificates(file string) error {
	data, err := os.ReadFile(file)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(data) {
		err = errors.New("it has no certificates")
	}
	return err
}
