// SPDX-License-Identifier: Apache-2.0
// The pages there are. To add one: write its view, name it here, and give it a title
// (page.NAME) in messages.json.
import { Fleet } from './pages/fleet.js';
import { GPU } from './pages/gpu.js';
import { Cost } from './pages/cost.js';
import { Statement } from './pages/statement.js';
import { Guardrails } from './pages/guardrails.js';

export const pages = [
  { name: 'fleet', view: Fleet, nav: true },
  { name: 'gpu', view: GPU, under: 'fleet' },
  { name: 'cost', view: Cost, nav: true },
  { name: 'statement', view: Statement, nav: true },
  { name: 'guardrails', view: Guardrails, nav: true },
];
