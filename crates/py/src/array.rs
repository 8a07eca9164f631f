//! Numbers as arrays of NumPy.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyByteArray;

/// A type of numbers that NumPy has, too. Each value has a defined byte pattern without padding.
pub(crate) trait Number: Copy {
    /// NumPy's name of the type.
    const DTYPE: &'static str;
}

macro_rules! numbers {
    ($($rust:ty => $numpy:literal),*) => {
        $(impl Number for $rust {
            const DTYPE: &'static str = $numpy;
        })*
    };
}

numbers!(u8 => "u1", u16 => "u2", u32 => "u4", u64 => "u8", f64 => "f8");

/// Copy numbers into an array of NumPy with one dimension, which can be written.
pub(crate) fn array<'py, T: Number>(py: Python<'py>, numbers: &[T]) -> PyResult<Bound<'py, PyAny>> {
    static FROM_BUFFER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    // SAFETY: the pointer and the length are those of the slice, and `Number` has no padding.
    let bytes =
        unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), size_of_val(numbers)) };
    FROM_BUFFER.import(py, "numpy", "frombuffer")?.call1((PyByteArray::new(py, bytes), T::DTYPE))
}
