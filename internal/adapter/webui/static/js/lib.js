// SPDX-License-Identifier: Apache-2.0
// What every file takes from the libraries, in one place.
export { html, render, useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback, useErrorBoundary } from '../vendor/htm-preact-3.1.1.js';
