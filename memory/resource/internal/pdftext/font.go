package main

import "github.com/ledongthuc/pdf"

// font is what must be known of a font to read strings in it.
type font struct {
	enc    pdf.TextEncoding
	wide   bool            // its codes have two bytes
	widths map[int]float64 // in thousandths of the size
	usual  float64         // the width of codes that are not there
}

// choose finds a font by its name, once for a stream.
func (t *text) choose(name string, resources pdf.Value) *font {
	f, ok := t.named[name]
	if !ok {
		f = t.load(resources.Key("Font").Key(name))
		t.named[name] = f
	}
	return f
}

// load reads a font, once for the file.
func (t *text) load(v pdf.Value) *font {
	key := v.String()
	if f, ok := t.fonts[key]; ok {
		return f
	}
	source := pdf.Font{V: v}
	f := &font{enc: source.Encoder(), widths: map[int]float64{}, usual: 500}
	if f.wide = v.Key("Subtype").Name() == "Type0"; f.wide {
		f.composite(v.Key("DescendantFonts").Index(0))
	} else {
		first, widths := int(v.Key("FirstChar").Int64()), v.Key("Widths")
		for i := range widths.Len() {
			f.widths[first+i] = widths.Index(i).Float64()
		}
	}
	t.fonts[key] = f
	return f
}

// composite reads widths as composite fonts have them: "first [w w w]" or "first last w".
func (f *font) composite(v pdf.Value) {
	f.usual = 1000
	if dw := v.Key("DW"); !dw.IsNull() {
		f.usual = dw.Float64()
	}
	w := v.Key("W")
	for i := 0; i+1 < w.Len(); {
		first, second := int(w.Index(i).Int64()), w.Index(i+1)
		if second.Kind() == pdf.Array {
			for j := range second.Len() {
				f.widths[first+j] = second.Index(j).Float64()
			}
			i += 2
			continue
		}
		for code := first; code <= min(int(second.Int64()), 0xffff); code++ {
			f.widths[code] = w.Index(i + 2).Float64()
		}
		i += 3
	}
}

// measure counts the codes of a string, and adds up how wide they are.
func (f *font) measure(raw string) (codes int, width float64) {
	step := 1
	if f.wide {
		step = 2
	}
	for i := 0; i+step <= len(raw); i += step {
		code := int(raw[i])
		if f.wide {
			code = code<<8 | int(raw[i+1])
		}
		w, ok := f.widths[code]
		if !ok {
			w = f.usual
		}
		width += w
		codes++
	}
	return codes, width
}
