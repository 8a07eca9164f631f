//! Converts numbers to NumPy arrays.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyByteArray;

/// A numeric type that also exists in NumPy.
pub(crate) trait Number: Copy {
    /// NumPy's name of the numeric type, in native byte order.
    const DTYPE: &'static str;

    /// Appends the bytes of the number in native byte order.
    fn write(self, bytes: &mut Vec<u8>);
}

macro_rules! numbers {
    ($($rust:ty => $numpy:literal),*) => {
        $(impl Number for $rust {
            const DTYPE: &'static str = $numpy;

            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_ne_bytes());
            }
        })*
    };
}

numbers!(u8 => "u1", u16 => "u2", u32 => "u4", u64 => "u8", f64 => "f8");

/// Copies numbers to a writable one-dimensional NumPy array.
pub(crate) fn array<'py, T: Number>(py: Python<'py>, numbers: &[T]) -> PyResult<Bound<'py, PyAny>> {
    static FROM_BUFFER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let mut bytes = Vec::with_capacity(size_of_val(numbers));
    for number in numbers {
        number.write(&mut bytes);
    }
    FROM_BUFFER.import(py, "numpy", "frombuffer")?.call1((PyByteArray::new(py, &bytes), T::DTYPE))
}
