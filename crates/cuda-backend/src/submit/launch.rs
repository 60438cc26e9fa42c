//! The builder of a kernel launch, which checks each argument against the manifest.

use core::fmt::{self, Display};
use std::{ffi::c_void, sync::Arc};

use backend_api::{BackendError, Element};
use bytemuck::NoUninit;
use zeroize::Zeroizing;

use crate::{
    CudaMut, CudaRef,
    kernels::{ArgumentKind, LoadedKernel},
    mem::{BlockAccess, BlockRegion, DeviceBlock},
    streams::Track,
};

/// The name of a launch in errors.
const LAUNCH: &str = "launch";

/// The name of a type without its path.
fn type_name<T>() -> &'static str {
    let name = core::any::type_name::<T>();
    name.rsplit("::").next().unwrap_or(name)
}

/// A kernel launch under construction.
///
/// Arguments are given in the order of the kernel's parameters, each with its name in the kernel's
/// source.
///
/// Names, kinds, element types and sizes are checked against the kernel's manifest.
/// [`launch`](Self::launch) reports the first thing that does not fit.
#[must_use = "nothing runs before `launch`"]
pub struct Launch<'a> {
    track: &'a Track,
    kernel: Arc<LoadedKernel>,
    grid: [u64; 3],
    dynamic_shared: Option<u32>,
    cooperative: bool,
    /// The parameters, packed as the kernel expects them.
    ///
    /// One may be a key, so they are wiped and not shown.
    packed: Zeroizing<Vec<u128>>,
    given: usize,
    uses: Vec<(&'a Arc<DeviceBlock>, BlockAccess)>,
    misfit: Option<BackendError>,
}

impl<'a> Launch<'a> {
    pub(crate) fn new(track: &'a Track, kernel: Arc<LoadedKernel>) -> Self {
        let packed = Zeroizing::new(vec![0u128; kernel.parameter_bytes().div_ceil(size_of::<u128>())]);
        let (grid, uses) = ([1; 3], Vec::new());
        Self { track, kernel, grid, dynamic_shared: None, cooperative: false, packed, given: 0, uses, misfit: None }
    }

    /// Threads of a block along x, y and z.
    #[must_use]
    pub fn block(&self) -> [u32; 3] {
        self.kernel.block()
    }

    /// Threads of a block along x.
    #[must_use]
    pub(crate) fn width(&self) -> u32 {
        self.block()[0]
    }

    /// Minimum number of blocks that the device holds at once.
    ///
    /// It follows from the register bound that the kernel was built for.
    #[must_use]
    pub fn at_once(&self) -> u64 {
        u64::from(self.kernel.min_blocks()) * u64::from(self.track.device().info().multiprocessors)
    }

    /// Launches `blocks` along x, y and z. Nothing runs if one of them is zero.
    pub fn grid(mut self, blocks: [u64; 3]) -> Self {
        self.grid = blocks;
        self
    }

    /// Launches `blocks` along x; 0 blocks launch nothing.
    pub(crate) fn blocks(self, blocks: u64) -> Self {
        self.grid([blocks, 1, 1])
    }

    /// Launches enough blocks along x to give each of `threads` items a thread along x.
    pub fn cover(self, threads: usize) -> Self {
        let width = u64::from(self.width());
        self.blocks((threads as u64).div_ceil(width))
    }

    /// As [`cover`](Self::cover), with at most the blocks that the device holds at once.
    ///
    /// The threads of the kernel stride over the grid.
    pub(crate) fn cover_striding(self, items: u64) -> Self {
        let blocks = items.div_ceil(self.width().into()).min(self.at_once());
        self.blocks(blocks)
    }

    /// Gives each block `bytes` of dynamic shared memory.
    ///
    /// For kernels that leave the amount to the launch.
    pub fn dynamic_shared(mut self, bytes: u32) -> Self {
        self.dynamic_shared = Some(bytes);
        self
    }

    /// Runs all blocks at once, so that they can wait for each other.
    pub fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// A plain value for the parameter `name`: a scalar or a record.
    pub fn value<P: NoUninit>(mut self, name: &str, value: &P) -> Self {
        self.push(name, ArgumentKind::Value, None, bytemuck::bytes_of(value));
        self
    }

    /// The address of a view for the parameter `name`, through which the kernel reads.
    pub fn input<T: Element>(self, name: &str, view: CudaRef<'a, T>) -> Self {
        self.address::<T>(name, ArgumentKind::Read, view.region())
    }

    /// Passes the address of a view as the parameter `name`.
    ///
    /// The kernel writes through it, and may read.
    pub fn output<T: Element>(self, name: &str, view: &CudaMut<'a, T>) -> Self {
        self.address::<T>(name, ArgumentKind::Write, view.region())
    }

    /// As [`input`](Self::input); a null pointer if there is no view, or no element in it.
    pub fn input_if<T: Element>(self, name: &str, view: Option<CudaRef<'a, T>>) -> Self {
        self.address::<T>(name, ArgumentKind::Read, view.and_then(|view| view.region()))
    }

    /// As [`output`](Self::output); a null pointer if there is no view, or no element in it.
    pub fn output_if<T: Element>(self, name: &str, view: Option<&CudaMut<'a, T>>) -> Self {
        self.address::<T>(name, ArgumentKind::Write, view.and_then(|view| view.region()))
    }

    /// Submits the launch.
    ///
    /// # Errors
    /// [`BackendError::Kernel`] if arguments, grid or shared memory do not fit the kernel,
    /// [`BackendError::MixedBackend`] if a view is of another device, and the driver's errors.
    ///
    /// # Safety
    /// The arguments have the meaning that the kernel gives its parameters, and each view has every
    /// element that the kernel touches through it.
    pub unsafe fn launch(mut self) -> Result<(), BackendError> {
        let (grid, dynamic_shared) = self.check()?;
        if grid.contains(&0) {
            return Ok(());
        }
        let admitted = self.track.admit(LAUNCH, &self.uses)?;
        let base: *mut u8 = self.packed.as_mut_ptr().cast();
        let mut arguments: Vec<*mut c_void> =
            self.kernel.parameters().iter().map(|parameter| base.wrapping_add(parameter.offset).cast()).collect();
        self.track.launched(&admitted, &self.kernel);
        // SAFETY: every parameter has been given a value of its size at its offset; views are alive until the stream has
        // passed this use of them; the rest is this function's contract.
        unsafe {
            self.kernel.function().launch(
                self.track.stream(),
                [grid, self.kernel.block()],
                dynamic_shared,
                self.cooperative,
                &mut arguments,
            )
        }?;
        Ok(())
    }

    /// The grid, and the dynamic shared memory of a block.
    #[cfg(test)]
    pub(crate) fn geometry(&self) -> ([u64; 3], Option<u32>) {
        (self.grid, self.dynamic_shared)
    }

    fn address<T: Element>(mut self, name: &str, kind: ArgumentKind, region: Option<BlockRegion<'a>>) -> Self {
        if let Some(region) = region {
            if let Err(error) = self.track.own(LAUNCH, region.block()) {
                self.misfit.get_or_insert(error);
            }
            let access = if kind == ArgumentKind::Write { BlockAccess::Write } else { BlockAccess::Read };
            self.uses.push((region.block(), access));
        }
        self.push(name, kind, Some(type_name::<T>()), bytemuck::bytes_of(&region.map_or(0, BlockRegion::address)));
        self
    }

    /// Appends the bytes of the next parameter.
    ///
    /// The parameter must be called `name`, be of this kind, and lead to elements of this type.
    fn push(&mut self, name: &str, kind: ArgumentKind, element: Option<&str>, bytes: &[u8]) {
        let parameters = self.kernel.parameters();
        let admitted = match parameters.get(self.given) {
            None => Err(format!("expected {} arguments, got an additional `{name}`", parameters.len())),
            Some(parameter) => parameter.admit(name, kind, element, bytes.len()).map(|()| parameter.offset),
        };
        match admitted {
            Ok(offset) => {
                let packed: &mut [u8] = bytemuck::cast_slice_mut(&mut self.packed[..]);
                packed[offset..offset + bytes.len()].copy_from_slice(bytes);
                self.given += 1;
            }
            Err(reason) => self.refuse(reason),
        }
    }

    fn refuse(&mut self, reason: impl Display) {
        let (kernel, reason) = (self.kernel.name().to_string(), reason.to_string());
        self.misfit.get_or_insert(BackendError::Kernel { kernel, reason });
    }

    fn check(&mut self) -> Result<([u32; 3], u32), BackendError> {
        let count = self.kernel.parameters().len();
        if self.misfit.is_none() && self.given != count {
            let given = self.given;
            self.refuse(format_args!("expected {count} arguments, got {given}"));
        }
        let mut grid = [0u32; 3];
        let limits = self.track.device().info().max_grid;
        for (axis, (blocks, limit)) in self.grid.into_iter().zip(limits).enumerate() {
            match u32::try_from(blocks) {
                Ok(blocks) if blocks <= limit => grid[axis] = blocks,
                _ => {
                    let axis = ["x", "y", "z"][axis];
                    self.refuse(format_args!("expected at most {limit} blocks along {axis}, got {blocks}"));
                }
            }
        }
        let dynamic_shared = self.kernel.dynamic_shared(self.dynamic_shared).unwrap_or_else(|reason| {
            self.refuse(reason);
            0
        });
        self.misfit.take().map_or(Ok((grid, dynamic_shared)), Err)
    }
}

impl fmt::Debug for Launch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch").field("kernel", self.kernel.name()).field("grid", &self.grid).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::rig;

    #[test]
    fn grids_cover_items_by_blocks_along_x() {
        let (_machine, queue) = rig::queue(3);
        let launch = || queue.kernel(rig::KERNELS[0]).unwrap();
        assert_eq!((launch().width(), launch().at_once(), launch().geometry()), (128, 3, ([1; 3], None)));
        assert_eq!(launch().blocks(9).dynamic_shared(5).geometry(), ([9, 1, 1], Some(5)));
        for (items, blocks, striding) in [(0, 0, 0), (1, 1, 1), (128, 1, 1), (129, 2, 2), (384, 3, 3), (385, 4, 3)] {
            assert_eq!(launch().cover(items).geometry(), ([blocks, 1, 1], None), "{items}");
            assert_eq!(launch().cover_striding(items as u64).geometry(), ([striding, 1, 1], None), "{items}");
        }
    }
}
