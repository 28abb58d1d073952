package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// valueType is what the values of a map may be.
type valueType struct {
	name string
	ok   func(cty.Type) bool
}

var (
	isText    = valueType{"text in quotes", func(t cty.Type) bool { return t == cty.String }}
	isNumeric = valueType{"a number", func(t cty.Type) bool { return t == cty.Number }}
	isPlain   = valueType{"text, a number or a bool", func(t cty.Type) bool { return t.IsPrimitiveType() }}
)

// asMap reads { KEY = value, … } one pair after the other, in the order of
// the keys. add puts a pair to those before it.
func asMap[T any](kind valueType, add func(so T, key, value string) (T, []mistake)) reader {
	return func(f *field) (any, bool) {
		var result T
		if t := f.value.Type(); !t.IsObjectType() && !t.IsMapType() {
			f.wrongType(f.expr.Range(), f.value, "a map, { NAME = value }")
			return nil, false
		}
		places, right := f.places()
		pairs := f.value.AsValueMap()
		for _, key := range slices.Sorted(maps.Keys(pairs)) {
			v, at := pairs[key], f.expr.Range()
			if place, ok := places[key]; ok {
				at = place
			}
			if v.IsNull() || !v.IsKnown() || !kind.ok(v.Type()) {
				f.wrong(at, mistake{wrong: "the value of " + quote(key) + " is " + describe(v) + ", not " + kind.name})
				right = false
				continue
			}
			var mistakes []mistake
			result, mistakes = add(result, key, plainText(v))
			f.wrong(at, mistakes...)
			right = right && len(mistakes) == 0
		}
		return result, right
	}
}

// places says where each pair of a map that is written out stands, and tells
// of a key that is there twice: HCL would take the last.
func (f *field) places() (places map[string]hcl.Range, right bool) {
	written, diags := hcl.ExprMap(f.expr)
	if diags.HasErrors() {
		return nil, true
	}
	places, right = map[string]hcl.Range{}, true
	for _, pair := range written {
		key, diags := pair.Key.Value(f.d.ctx)
		if diags.HasErrors() || key.IsNull() || !key.IsKnown() || !key.Type().IsPrimitiveType() {
			continue
		}
		name := plainText(key)
		if _, twice := places[name]; twice {
			f.wrong(pair.Key.Range(), mistake{wrong: "has " + quote(name) + " twice"})
			right = false
			continue
		}
		places[name] = hcl.RangeBetween(pair.Key.Range(), pair.Value.Range())
	}
	return places, right
}

// addEnv adds a variable of a process.
func addEnv(env []string, name, value string) ([]string, []mistake) {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return env, wrong(quote(name) + " is no name of a variable")
	}
	if strings.IndexByte(value, 0) >= 0 {
		return env, wrong("the value of " + name + " has a zero byte, which no program can be given")
	}
	return append(env, name+"="+value), nil
}

// addHeader adds a header of an HTTP request.
func addHeader(headers []string, name, value string) ([]string, []mistake) {
	const token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" // RFC 9110, 5.6.2
	if name == "" || strings.Trim(name, token) != "" {
		return headers, wrong(quote(name) + " is no name of a header")
	}
	if strings.ContainsAny(value, "\r\n\x00") {
		return headers, wrong("the value of " + name + " has a line break or a zero byte")
	}
	return append(headers, name+": "+value), nil
}
