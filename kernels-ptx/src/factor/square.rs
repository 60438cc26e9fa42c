//! Square matrices that one block works on, in shared or in global memory.

use crate::dev::memory::smem::SharedSlice;

/// The memory of a row-major matrix of f64.
pub trait Square: Copy {
    /// Reads an element.
    ///
    /// # Safety
    /// The element exists, and a barrier lies between its writes by other threads and this.
    unsafe fn get(self, i: u32) -> f64;

    /// Writes an element.
    ///
    /// # Safety
    /// The element exists, and a barrier lies between its uses by other threads and this.
    unsafe fn set(self, i: u32, value: f64);
}

impl Square for SharedSlice<f64> {
    #[inline(always)]
    unsafe fn get(self, i: u32) -> f64 {
        SharedSlice::get(self, i)
    }

    #[inline(always)]
    unsafe fn set(self, i: u32, value: f64) {
        SharedSlice::set(self, i, value);
    }
}

impl Square for *mut f64 {
    #[inline(always)]
    unsafe fn get(self, i: u32) -> f64 {
        *self.add(i as usize)
    }

    #[inline(always)]
    unsafe fn set(self, i: u32, value: f64) {
        *self.add(i as usize) = value;
    }
}
