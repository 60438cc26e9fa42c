//! The properties of a device, as the driver states them.

use backend_api::BackendError;
use cuda_loader::ffi::device as number;
use cust::device::Device;

use crate::{
    error::{DriverFault, status_of},
    ffi,
};

/// The least compute capability that the backend runs on.
pub const MIN_CAPABILITY: (u32, u32) = (8, 0);

/// The properties of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its number among the devices that the driver shows.
    pub ordinal: u32,
    /// Its name.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// Bytes of device memory.
    pub total_bytes: u64,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Threads of a block at most.
    pub max_block_threads: u32,
    /// Blocks of a grid at most, along x, y and z.
    pub max_grid: [u32; 3],
    /// Shared bytes that a block may have if its kernel asks for them.
    pub max_shared_bytes: u32,
    /// Shared bytes of all blocks on a multiprocessor together.
    pub multiprocessor_shared_bytes: u32,
    /// Bytes of the cache that all multiprocessors share.
    pub cache_bytes: u64,
    /// Whether the driver pools device memory in the order of streams.
    pub memory_pools: bool,
    /// Whether it supports cooperative launches, which run all blocks at once.
    pub cooperative_launches: bool,
}

impl DeviceInfo {
    /// Whether its compute capability suffices.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.capability >= MIN_CAPABILITY
    }

    /// Asks the driver about `device`.
    pub(crate) fn query(ordinal: u32, device: Device) -> Result<Self, BackendError> {
        let refused = |call| move |error| BackendError::from(DriverFault::Refused { call, status: status_of(error) });
        let attribute = |number| ffi::device_attribute(device, number);
        Ok(Self {
            ordinal,
            name: device.name().map_err(refused("cuDeviceGetName"))?,
            capability: (attribute(number::COMPUTE_CAPABILITY_MAJOR)?, attribute(number::COMPUTE_CAPABILITY_MINOR)?),
            total_bytes: device.total_memory().map_err(refused("cuDeviceTotalMem_v2"))? as u64,
            multiprocessors: attribute(number::MULTIPROCESSOR_COUNT)?,
            max_block_threads: attribute(number::MAX_THREADS_PER_BLOCK)?,
            max_grid: [
                attribute(number::MAX_GRID_DIM_X)?,
                attribute(number::MAX_GRID_DIM_Y)?,
                attribute(number::MAX_GRID_DIM_Z)?,
            ],
            max_shared_bytes: attribute(number::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            multiprocessor_shared_bytes: attribute(number::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            cache_bytes: attribute(number::L2_CACHE_SIZE)?.into(),
            memory_pools: attribute(number::MEMORY_POOLS_SUPPORTED)? != 0,
            cooperative_launches: attribute(number::COOPERATIVE_LAUNCH)? != 0,
        })
    }
}
