//! Integer constants of the driver API, with one module for each C enumeration.

macro_rules! constants {
    ($($(#[$doc:meta])* $module:ident: $ty:ty { $($name:ident = $value:expr,)* })*) => {$(
        $(#[$doc])*
        #[allow(missing_docs, reason = "each value is documented by the driver API under the same name")]
        pub mod $module {
            $(pub const $name: $ty = $value;)*
        }
    )*};
}

constants! {
    /// Context flags.
    context: u32 {
        SCHED_AUTO = 0, SCHED_SPIN = 1, SCHED_YIELD = 2, SCHED_BLOCKING_SYNC = 4, MAP_HOST = 8,
    }
    /// Stream creation flags.
    stream: u32 {
        DEFAULT = 0, NON_BLOCKING = 1,
    }
    /// Event creation flags.
    event: u32 {
        DEFAULT = 0, BLOCKING_SYNC = 1, DISABLE_TIMING = 2, INTERPROCESS = 4,
    }
    /// Capture modes and the states of a capture.
    capture: u32 {
        GLOBAL = 0, THREAD_LOCAL = 1, RELAXED = 2,
        STATUS_NONE = 0, STATUS_ACTIVE = 1, STATUS_INVALIDATED = 2,
    }
    /// Kinds of graph nodes and outcomes of `cuGraphExecUpdate`.
    graph: u32 {
        KERNEL = 0, MEMCPY = 1, MEMSET = 2, HOST = 3, GRAPH = 4, EMPTY = 5, WAIT_EVENT = 6, EVENT_RECORD = 7,
        MEM_ALLOC = 10, MEM_FREE = 11,
        UPDATE_SUCCESS = 0, UPDATE_ERROR = 1, UPDATE_TOPOLOGY_CHANGED = 2, UPDATE_NODE_TYPE_CHANGED = 3,
        UPDATE_FUNCTION_CHANGED = 4, UPDATE_PARAMETERS_CHANGED = 5, UPDATE_NOT_SUPPORTED = 6,
        UPDATE_UNSUPPORTED_FUNCTION_CHANGE = 7,
    }
    /// Flags of `cuMemHostAlloc` and `cuMemHostRegister`.
    host: u32 {
        PORTABLE = 1, DEVICE_MAP = 2, WRITE_COMBINED = 4,
        REGISTER_PORTABLE = 1, REGISTER_DEVICE_MAP = 2, REGISTER_IO_MEMORY = 4, REGISTER_READ_ONLY = 8,
    }
    /// Function attributes.
    function: u32 {
        MAX_THREADS_PER_BLOCK = 0, SHARED_SIZE_BYTES = 1, CONST_SIZE_BYTES = 2, LOCAL_SIZE_BYTES = 3, NUM_REGS = 4,
        PTX_VERSION = 5, BINARY_VERSION = 6, CACHE_MODE_CA = 7, MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
        PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
    }
    /// Options of `cuModuleLoadDataEx`.
    jit: u32 {
        MAX_REGISTERS = 0, THREADS_PER_BLOCK = 1, WALL_TIME = 2, INFO_LOG_BUFFER = 3, INFO_LOG_BUFFER_SIZE_BYTES = 4,
        ERROR_LOG_BUFFER = 5, ERROR_LOG_BUFFER_SIZE_BYTES = 6, OPTIMIZATION_LEVEL = 7, TARGET_FROM_CUCONTEXT = 8,
        TARGET = 9, FALLBACK_STRATEGY = 10, GENERATE_DEBUG_INFO = 11, LOG_VERBOSE = 12, GENERATE_LINE_INFO = 13,
        CACHE_MODE = 14,
    }
    /// Context limits.
    limit: u32 {
        STACK_SIZE = 0, PRINTF_FIFO_SIZE = 1, MALLOC_HEAP_SIZE = 2, DEV_RUNTIME_SYNC_DEPTH = 3,
        DEV_RUNTIME_PENDING_LAUNCH_COUNT = 4, MAX_L2_FETCH_GRANULARITY = 5, PERSISTING_L2_CACHE_SIZE = 6,
    }
    /// Memory pool attributes.
    pool: u32 {
        REUSE_FOLLOW_EVENT_DEPENDENCIES = 1, REUSE_ALLOW_OPPORTUNISTIC = 2, REUSE_ALLOW_INTERNAL_DEPENDENCIES = 3,
        RELEASE_THRESHOLD = 4, RESERVED_MEM_CURRENT = 5, RESERVED_MEM_HIGH = 6, USED_MEM_CURRENT = 7,
        USED_MEM_HIGH = 8,
    }
    /// Kinds of memory in pointer attributes and in copies of rows.
    mem_type: u32 {
        HOST = 1, DEVICE = 2, ARRAY = 3, UNIFIED = 4,
    }
    /// Kinds of memory locations.
    mem_location: u32 {
        INVALID = 0, DEVICE = 1,
    }
    /// Access rights.
    mem_access: u32 {
        NONE = 0, READ = 1, READ_WRITE = 3,
    }
    /// Peer attributes of an ordered pair of devices.
    p2p: u32 {
        PERFORMANCE_RANK = 1, ACCESS_SUPPORTED = 2, NATIVE_ATOMIC_SUPPORTED = 3, ARRAY_ACCESS_SUPPORTED = 4,
    }
    /// Pointer attributes.
    pointer: u32 {
        CONTEXT = 1, MEMORY_TYPE = 2, DEVICE_POINTER = 3, HOST_POINTER = 4, BUFFER_ID = 7, IS_MANAGED = 8,
        DEVICE_ORDINAL = 9, RANGE_START_ADDR = 11, RANGE_SIZE = 12, MAPPED = 13, MEMPOOL_HANDLE = 17,
    }
    /// Device attributes.
    device: u32 {
        MAX_THREADS_PER_BLOCK = 1, MAX_BLOCK_DIM_X = 2, MAX_BLOCK_DIM_Y = 3, MAX_BLOCK_DIM_Z = 4, MAX_GRID_DIM_X = 5,
        MAX_GRID_DIM_Y = 6, MAX_GRID_DIM_Z = 7, MAX_SHARED_MEMORY_PER_BLOCK = 8, TOTAL_CONSTANT_MEMORY = 9,
        WARP_SIZE = 10, MAX_PITCH = 11, MAX_REGISTERS_PER_BLOCK = 12, CLOCK_RATE = 13, TEXTURE_ALIGNMENT = 14,
        GPU_OVERLAP = 15, MULTIPROCESSOR_COUNT = 16, KERNEL_EXEC_TIMEOUT = 17, INTEGRATED = 18,
        CAN_MAP_HOST_MEMORY = 19, COMPUTE_MODE = 20, CONCURRENT_KERNELS = 31, ECC_ENABLED = 32, PCI_BUS_ID = 33,
        PCI_DEVICE_ID = 34, TCC_DRIVER = 35, MEMORY_CLOCK_RATE = 36, GLOBAL_MEMORY_BUS_WIDTH = 37, L2_CACHE_SIZE = 38,
        MAX_THREADS_PER_MULTIPROCESSOR = 39, ASYNC_ENGINE_COUNT = 40, UNIFIED_ADDRESSING = 41, PCI_DOMAIN_ID = 50,
        TEXTURE_PITCH_ALIGNMENT = 51, COMPUTE_CAPABILITY_MAJOR = 75, COMPUTE_CAPABILITY_MINOR = 76,
        STREAM_PRIORITIES_SUPPORTED = 78, GLOBAL_L1_CACHE_SUPPORTED = 79, LOCAL_L1_CACHE_SUPPORTED = 80,
        MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81, MAX_REGISTERS_PER_MULTIPROCESSOR = 82, MANAGED_MEMORY = 83,
        MULTI_GPU_BOARD = 84, HOST_NATIVE_ATOMIC_SUPPORTED = 86, PAGEABLE_MEMORY_ACCESS = 88,
        CONCURRENT_MANAGED_ACCESS = 89, COMPUTE_PREEMPTION_SUPPORTED = 90,
        CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91, COOPERATIVE_LAUNCH = 95,
        MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97, HOST_REGISTER_SUPPORTED = 99, MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
        RESERVED_SHARED_MEMORY_PER_BLOCK = 111, MEMORY_POOLS_SUPPORTED = 115,
    }
}
