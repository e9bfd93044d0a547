// Package kube talks to the API server: a small client of its own, and the programs that people use.
package kube

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Object is a JSON object as it came; its getters give the zero value for what is not there.
type Object map[string]any

// Parse reads a JSON object; nil where it is none.
func Parse(text string) Object {
	var o Object
	if json.Unmarshal([]byte(text), &o) != nil {
		return nil
	}
	return o
}

// At walks along keys; a number is an index of a list.
func (o Object) At(path ...string) any {
	var v any = map[string]any(o)
	for _, key := range path {
		switch t := v.(type) {
		case map[string]any:
			v = t[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(t) {
				return nil
			}
			v = t[i]
		default:
			return nil
		}
	}
	return v
}

// Text is a string at that place; anything else as JSON; "" for nothing.
func (o Object) Text(path ...string) string {
	switch v := o.At(path...).(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		data, _ := json.Marshal(v)
		return string(data)
	}
}

// Int is a number at that place.
func (o Object) Int(path ...string) int64 {
	f, _ := o.At(path...).(float64)
	return int64(f)
}

// Object is an object at that place.
func (o Object) Object(path ...string) Object {
	m, _ := o.At(path...).(map[string]any)
	return m
}

// List is a list of objects at that place.
func (o Object) List(path ...string) []Object {
	items, _ := o.At(path...).([]any)
	var list []Object
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			list = append(list, m)
		}
	}
	return list
}

// Named is the entry of a list at that place whose name is that.
func (o Object) Named(name string, path ...string) Object {
	for _, item := range o.List(path...) {
		if item.Text("name") == name {
			return item
		}
	}
	return nil
}

// Condition is the one of that type in status.conditions.
func (o Object) Condition(kind string) Object {
	for _, c := range o.List("status", "conditions") {
		if c.Text("type") == kind {
			return c
		}
	}
	return nil
}

func (o Object) Name() string                 { return o.Text("metadata", "name") }
func (o Object) UID() string                  { return o.Text("metadata", "uid") }
func (o Object) Generation() int64            { return o.Int("metadata", "generation") }
func (o Object) Annotation(key string) string { return o.Text("metadata", "annotations", key) }

func (o Object) String() string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(map[string]any(o))
	return strings.TrimSpace(b.String())
}
