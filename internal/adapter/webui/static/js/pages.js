// SPDX-License-Identifier: Apache-2.0
// The pages there are. To add one: write its view, name it here, and give it a title
// (page.NAME) in messages.json.
import { Fleet } from './pages/fleet.js';
import { GPU } from './pages/gpu.js';
import { Cost } from './pages/cost.js';
import { Statement } from './pages/statement.js';
import { Guardrails } from './pages/guardrails.js';
import { Truth } from './pages/truth.js';
import { Utilization } from './pages/utilization.js';
import { Advice } from './pages/advice.js';
import { Workload } from './pages/workload.js';

export const pages = [
  { name: 'fleet', view: Fleet, nav: true },
  { name: 'gpu', view: GPU, under: 'fleet' },
  { name: 'cost', view: Cost, nav: true },
  { name: 'workload', view: Workload, nav: true },
  { name: 'statement', view: Statement, nav: true },
  { name: 'advice', view: Advice, nav: true },
  { name: 'guardrails', view: Guardrails, nav: true },
  { name: 'truth', view: Truth, nav: true },
  { name: 'utilization', view: Utilization, nav: true },
];
