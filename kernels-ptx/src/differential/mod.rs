//! Random programs that test the simulator and devices.
//!
//! No op uses them. A build script writes them, crate `device-trials` compiles the same text for
//! the host, and both must compute the same.
//!
//! # Safety
//! `programs` is `len` numbers of programs, `inputs` three words for each, `results` a word for
//! each. Grid and block: one thread for each.

mod float;
#[allow(unused_assignments, reason = "random programs are not written for readers")]
mod programs {
    include!(concat!(env!("OUT_DIR"), "/programs.rs"));
}

use crate::dev::idx;

macro_rules! kernels {
    ($($kernel:ident runs $family:ident;)*) => {$(
        #[doc = concat!("Runs programs of the family `", stringify!($family), "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $kernel(
            programs: *const u32,
            inputs: *const [u64; 3],
            results: *mut u64,
            len: u32,
        ) {
            let i = idx::global_id();
            if i < len {
                let [a, b, c] = *inputs.add(i as usize);
                *results.add(i as usize) = programs::$family::run(*programs.add(i as usize), a, b, c);
            }
        }
    )*};
}

kernels! {
    differential_narrow runs narrow;
    differential_words runs words;
    differential_wide runs wide;
    differential_single runs single;
    differential_double runs double;
    differential_casts runs casts;
    differential_control runs control;
    differential_arrays runs arrays;
    differential_calls runs calls;
}
