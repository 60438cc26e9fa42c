//! Calls on the value inside an enum of backends, written once for all backends.

/// Runs an expression on the value inside an enum of backends.
///
/// With `wrap`, the success of the result goes into an enum of the same backend.
macro_rules! inside {
    ($value:expr, $any:ident($inner:ident) => $run:expr) => {
        match $value {
            $any::Cpu($inner) => $run,
            #[cfg(feature = "cuda")]
            $any::Cuda($inner) => $run,
        }
    };
    ($value:expr, $any:ident($inner:ident) => $run:expr, wrap $wrapped:ident) => {
        match $value {
            $any::Cpu($inner) => $run.map($wrapped::Cpu),
            #[cfg(feature = "cuda")]
            $any::Cuda($inner) => $run.map($wrapped::Cuda),
        }
    };
}

/// Runs an expression on the values inside several enums of backends.
///
/// An op whose values are not all of one backend is refused as mixed.
macro_rules! inside_all {
    ($op:literal, [$($value:expr => $any:ident($inner:ident)),+], $run:expr) => {
        match ($($value),+) {
            ($($any::Cpu($inner)),+) => $run,
            #[cfg(feature = "cuda")]
            ($($any::Cuda($inner)),+) => $run,
            _ => Err(backend_api::BackendError::MixedBackend { op: $op }),
        }
    };
}

/// Runs a call on the values inside, within a span of its name with the bytes it moves.
macro_rules! moved {
    ($op:literal, $bytes:expr, [$queue:expr => $any:ident($q:ident), $($rest:tt)+], $run:expr) => {
        $crate::any::span::traced!(
            $queue,
            $op,
            [bytes = $bytes],
            $crate::any::dispatch::inside_all!($op, [$queue => $any($q), $($rest)+], $run)
        )
    };
}

pub(super) use {inside, inside_all, moved};
