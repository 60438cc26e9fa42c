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
    /// Refuses a fill outside live memory or off its elements' alignment.
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
        let aligned = fill.target.is_multiple_of(fill.element.into()) && (fill.height < 2 || fill.pitch >= row);
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

/// A fill of consecutive elements.
fn flat(target: CUdeviceptr, value: u32, element: u32, count: usize) -> Fill {
    Fill { target, pitch: 0, value, element, width: count as u64, height: 1 }
}

unsafe extern "C" fn cuMemsetD8_v2(dst: CUdeviceptr, value: u8, n: usize) -> Status {
    call("cuMemsetD8_v2", Needs::Context, |entry| entry.fill(flat(dst, value.into(), 1, n), None))
}

unsafe extern "C" fn cuMemsetD8Async(dst: CUdeviceptr, value: u8, n: usize, stream: CUstream) -> Status {
    call("cuMemsetD8Async", Needs::Context, |entry| entry.fill(flat(dst, value.into(), 1, n), Some(stream)))
}

unsafe extern "C" fn cuMemsetD2D8_v2(dst: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize) -> Status {
    call("cuMemsetD2D8_v2", Needs::Context, |entry| {
        let rows = Fill { pitch: pitch as u64, height: height as u64, ..flat(dst, value.into(), 1, width) };
        entry.fill(rows, None)
    })
}

unsafe extern "C" fn cuMemsetD2D8Async(
    dst: CUdeviceptr,
    pitch: usize,
    value: u8,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Status {
    call("cuMemsetD2D8Async", Needs::Context, |entry| {
        let rows = Fill { pitch: pitch as u64, height: height as u64, ..flat(dst, value.into(), 1, width) };
        entry.fill(rows, Some(stream))
    })
}

unsafe extern "C" fn cuMemsetD16_v2(dst: CUdeviceptr, value: u16, n: usize) -> Status {
    call("cuMemsetD16_v2", Needs::Context, |entry| entry.fill(flat(dst, value.into(), 2, n), None))
}

unsafe extern "C" fn cuMemsetD16Async(dst: CUdeviceptr, value: u16, n: usize, stream: CUstream) -> Status {
    call("cuMemsetD16Async", Needs::Context, |entry| entry.fill(flat(dst, value.into(), 2, n), Some(stream)))
}

unsafe extern "C" fn cuMemsetD2D16_v2(
    dst: CUdeviceptr,
    pitch: usize,
    value: u16,
    width: usize,
    height: usize,
) -> Status {
    call("cuMemsetD2D16_v2", Needs::Context, |entry| {
        let rows = Fill { pitch: pitch as u64, height: height as u64, ..flat(dst, value.into(), 2, width) };
        entry.fill(rows, None)
    })
}

unsafe extern "C" fn cuMemsetD2D16Async(
    dst: CUdeviceptr,
    pitch: usize,
    value: u16,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Status {
    call("cuMemsetD2D16Async", Needs::Context, |entry| {
        let rows = Fill { pitch: pitch as u64, height: height as u64, ..flat(dst, value.into(), 2, width) };
        entry.fill(rows, Some(stream))
    })
}

unsafe extern "C" fn cuMemsetD32_v2(dst: CUdeviceptr, value: u32, n: usize) -> Status {
    call("cuMemsetD32_v2", Needs::Context, |entry| entry.fill(flat(dst, value, 4, n), None))
}

unsafe extern "C" fn cuMemsetD32Async(dst: CUdeviceptr, value: u32, n: usize, stream: CUstream) -> Status {
    call("cuMemsetD32Async", Needs::Context, |entry| entry.fill(flat(dst, value, 4, n), Some(stream)))
}

unsafe extern "C" fn cuMemsetD2D32_v2(
    dst: CUdeviceptr,
    pitch: usize,
    value: u32,
    width: usize,
    height: usize,
) -> Status {
    call("cuMemsetD2D32_v2", Needs::Context, |entry| {
        let rows = Fill { pitch: pitch as u64, height: height as u64, ..flat(dst, value, 4, width) };
        entry.fill(rows, None)
    })
}

unsafe extern "C" fn cuMemsetD2D32Async(
    dst: CUdeviceptr,
    pitch: usize,
    value: u32,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Status {
    call("cuMemsetD2D32Async", Needs::Context, |entry| {
        let rows = Fill { pitch: pitch as u64, height: height as u64, ..flat(dst, value, 4, width) };
        entry.fill(rows, Some(stream))
    })
}
