// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"
)

// docs is where the panels' links lead.
const docs = "https://github.com/gputally/gputally/blob/main/docs/"

// nodes is the one series of each agent that names its cluster and node. The filters
// of a dashboard are on it alone: what an agent measures is joined to it.
const nodes = `max by (job, instance, cluster, node_name) (gputally_agent_info{cluster=~"$cluster", node_name=~"$node"})`

// join stands in the lists for "of the chosen nodes".
var join = strings.NewReplacer("@NODES", "* on (job, instance) group_left (cluster, node_name) "+nodes)

// board is one dashboard.
type board struct {
	name, title, about string
	vars               []variable
	rows               []row
}

// row is a line of panels under a heading.
type row struct {
	title  string
	panels []panel
}

// variable is a choice at the top.
type variable struct{ name, label, query, regex string }

// panel is one picture. kind is stat, timeseries or table.
type panel struct {
	kind, title, unit, about string
	// link is a page of docs.
	link    string
	w, h    int
	queries []query
	// stack adds the series up: only for what is parts of one whole.
	stack bool
	// top is the end of the axis, where there is one.
	top float64
}

// query is PromQL with @NODES, and what a series is called.
type query struct{ expr, legend string }

func chosen(more ...variable) []variable {
	return append([]variable{
		{"cluster", "Cluster", "label_values(gputally_agent_info, cluster)", ""},
		{"node", "Node", `label_values(gputally_agent_info{cluster=~"$cluster"}, node_name)`, ""},
	}, more...)
}

type object = map[string]any

// file is the dashboard as Grafana reads it.
func (b *board) file() ([]byte, error) {
	vars := []object{{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}}
	for _, v := range b.vars {
		vars = append(vars, object{
			"name": v.name, "label": v.label, "type": "query", "datasource": source, "definition": v.query,
			"query":      object{"query": v.query, "refId": "V"},
			"regex":      v.regex,
			"includeAll": true, "allValue": ".*", "multi": true, "refresh": 2, "sort": 1,
			"current": object{"text": []string{"All"}, "value": []string{"$__all"}},
		})
	}
	var panels []object
	id, y := 0, 0
	for _, r := range b.rows {
		id++
		panels = append(panels, object{"id": id, "type": "row", "title": r.title, "collapsed": false, "panels": []object{}, "gridPos": grid(0, y, 24, 1)})
		y++
		x, high := 0, 0
		for i := range r.panels {
			p := &r.panels[i]
			if x+p.w > 24 {
				x, y, high = 0, y+high, 0
			}
			id++
			panels = append(panels, p.object(id, grid(x, y, p.w, p.h)))
			x, high = x+p.w, max(high, p.h)
		}
		y += high
	}
	var links []object
	for _, other := range boards() {
		links = append(links, object{"type": "link", "title": other.title, "url": "/d/gputally-" + other.name, "keepTime": true, "includeVars": true})
	}
	links = append(links, object{"type": "link", "title": "What the figures mean", "url": docs + "model.md", "targetBlank": true})
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(object{
		"uid": "gputally-" + b.name, "title": b.title, "description": b.about, "tags": []string{"gputally"}, "schemaVersion": 39,
		"editable": true, "graphTooltip": 1, "refresh": "30s", "timezone": "", "time": object{"from": "now-6h", "to": "now"},
		"templating": object{"list": vars}, "links": links, "panels": panels,
	})
	return text.Bytes(), err
}

var source = object{"type": "prometheus", "uid": "${datasource}"}

func grid(x, y, w, h int) object { return object{"x": x, "y": y, "w": w, "h": h} }

func (p *panel) object(id int, at object) object {
	defaults := object{"unit": p.unit, "noValue": "unknown"}
	if p.top > 0 {
		defaults["min"], defaults["max"] = 0, p.top
	}
	options := object{}
	switch p.kind {
	case "timeseries":
		// What is not known is a gap: no line is drawn over it.
		custom := object{"drawStyle": "line", "lineWidth": 1, "fillOpacity": 0, "showPoints": "auto", "spanNulls": false}
		if p.stack {
			custom["stacking"], custom["fillOpacity"] = object{"mode": "normal", "group": "A"}, 60
		}
		defaults["custom"] = custom
		if p.top == 0 {
			defaults["min"] = 0
		}
		options = object{"legend": object{"displayMode": "table", "placement": "bottom", "calcs": []string{"lastNotNull"}}, "tooltip": object{"mode": "multi", "sort": "desc"}}
	case "stat":
		options = object{"reduceOptions": object{"calcs": []string{"last"}, "fields": "", "values": false}, "colorMode": "none", "graphMode": "none", "textMode": "auto"}
	}
	o := object{
		"id": id, "type": p.kind, "title": p.title, "description": p.about, "datasource": source, "gridPos": at,
		"fieldConfig": object{"defaults": defaults, "overrides": []object{}}, "options": options,
		"links": []object{{"title": "More", "url": docs + p.link, "targetBlank": true}},
	}
	var targets []object
	for i, q := range p.queries {
		t := object{"refId": string(rune('A' + i)), "datasource": source, "expr": join.Replace(q.expr), "legendFormat": q.legend, "range": true}
		if p.kind != "timeseries" {
			t["range"], t["instant"] = false, true
		}
		if p.kind == "table" {
			t["format"] = "table"
		}
		targets = append(targets, t)
	}
	o["targets"] = targets
	if p.kind == "table" {
		o["transformations"] = []object{{"id": "organize", "options": object{"excludeByName": object{"Time": true}}}}
	}
	return o
}
