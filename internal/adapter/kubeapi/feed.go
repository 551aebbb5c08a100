// SPDX-License-Identifier: Apache-2.0

package kubeapi

import "fmt"

// feed is a cache.ReflectorStore that keeps no API objects: it converts each
// one and hands on the result.
type feed[T any] struct {
	source  *source
	convert func(object any) (T, error)
	put     func(T)
	drop    func(T)
	replace func([]T)
}

func (f *feed[T]) apply(object any, do func(T)) error {
	v, err := f.convert(object)
	if err != nil {
		f.source.heard(err)
		return fmt.Errorf("%s: %w", f.source.operation, err)
	}
	do(v)
	return nil
}

// Add takes a new object.
func (f *feed[T]) Add(object any) error { return f.apply(object, f.put) }

// Update takes an object that changed.
func (f *feed[T]) Update(object any) error { return f.apply(object, f.put) }

// Delete takes the last state of a deleted object.
func (f *feed[T]) Delete(object any) error { return f.apply(object, f.drop) }

// Replace takes all objects there are.
func (f *feed[T]) Replace(objects []any, _ string) error {
	all := make([]T, 0, len(objects))
	for _, o := range objects {
		if err := f.apply(o, func(v T) { all = append(all, v) }); err != nil {
			return err
		}
	}
	f.replace(all)
	f.source.fill()
	return nil
}

// Resync has nothing to do.
func (f *feed[T]) Resync() error { return nil }
