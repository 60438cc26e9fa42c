//! Fills of device memory.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use cuda_loader::{
    Status,
    ffi::{CUdeviceptr, CUstream},
};

use crate::driver::{
    api::register,
    counters::Report,
    entry::{DriverCall, Needs, call},
    state::{transfer::Fill, work::WorkUnit},
};

register! {
    cuMemsetD8_v2 cuMemsetD16_v2 cuMemsetD32_v2 cuMemsetD2D8_v2 cuMemsetD2D16_v2 cuMemsetD2D32_v2 cuMemsetD8Async
    cuMemsetD16Async cuMemsetD32Async cuMemsetD2D8Async cuMemsetD2D16Async cuMemsetD2D32Async
}

impl DriverCall {
    /// Refuses a fill outside live memory, with overlapping rows, or off its elements' alignment.
    pub(in crate::driver::api) fn check_fill(&mut self, fill: &Fill) -> Result<(), Status> {
        let name = self.name;
        let driver = self.driver();
        let row = fill.width * u64::from(fill.element);
        let last = fill.target + (fill.height.max(1) - 1) * fill.pitch + row;
        let found = driver.memory.find(fill.target).filter(|found| last <= found.base + found.bytes);
        if found.is_none() {
            let reason = format!("{:#x}..{last:#x} lies in no live allocation", fill.target);
            driver.report(Report::Address { call: name, reason });
        }
        let whole = |bytes: u64| bytes.is_multiple_of(fill.element.into());
        let aligned = whole(fill.target) && (fill.height < 2 || fill.pitch >= row && whole(fill.pitch));
        if found.is_some() && aligned { Ok(()) } else { Err(Status::INVALID_VALUE) }
    }

    /// Enqueues a fill; without a stream, on the legacy one.
    fn fill(&mut self, fill: Fill, stream: Option<CUstream>) -> Result<(), Status> {
        if fill.width * fill.height == 0 {
            return Ok(());
        }
        if stream.is_none() {
            self.refuse_while_capturing()?;
        }
        self.check_fill(&fill)?;
        let stream = self.stream(stream.unwrap_or_default())?;
        self.enqueue(stream, WorkUnit::Fill(fill)).map(drop)
    }
}

/// A fill of rows of elements of type `T`.
fn rows<T: Into<u32>>(target: CUdeviceptr, pitch: usize, value: T, width: usize, height: usize) -> Fill {
    let (pitch, width, height) = (pitch as u64, width as u64, height as u64);
    Fill { target, pitch, value: value.into(), element: size_of::<T>() as u32, width, height }
}

/// Runs a call that fills.
fn fill(name: &'static str, fill: Fill, stream: Option<CUstream>) -> Status {
    call(name, Needs::Context, |entry| entry.fill(fill, stream))
}

/// The fills by one type of elements: of one row or several, on the legacy stream or another.
macro_rules! fills {
    ($value:ty: $row:ident $row_async:ident $rows:ident $rows_async:ident) => {
        unsafe extern "C" fn $row(dst: CUdeviceptr, value: $value, n: usize) -> Status {
            fill(stringify!($row), rows(dst, 0, value, n, 1), None)
        }

        unsafe extern "C" fn $row_async(dst: CUdeviceptr, value: $value, n: usize, stream: CUstream) -> Status {
            fill(stringify!($row_async), rows(dst, 0, value, n, 1), Some(stream))
        }

        unsafe extern "C" fn $rows(
            dst: CUdeviceptr,
            pitch: usize,
            value: $value,
            width: usize,
            height: usize,
        ) -> Status {
            fill(stringify!($rows), rows(dst, pitch, value, width, height), None)
        }

        unsafe extern "C" fn $rows_async(
            dst: CUdeviceptr,
            pitch: usize,
            value: $value,
            width: usize,
            height: usize,
            stream: CUstream,
        ) -> Status {
            fill(stringify!($rows_async), rows(dst, pitch, value, width, height), Some(stream))
        }
    };
}

fills! { u8: cuMemsetD8_v2 cuMemsetD8Async cuMemsetD2D8_v2 cuMemsetD2D8Async }
fills! { u16: cuMemsetD16_v2 cuMemsetD16Async cuMemsetD2D16_v2 cuMemsetD2D16Async }
fills! { u32: cuMemsetD32_v2 cuMemsetD32Async cuMemsetD2D32_v2 cuMemsetD2D32Async }
