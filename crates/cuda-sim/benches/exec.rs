//! Speed of the executor with checks off and on: lane instructions per second on one core, for three kinds of kernel.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints its figures and may panic")]

use std::time::Instant;

use cuda_sim::exec::{Checks, Grid, Memory, Options, Program, launch};

/// Repeats `body` 512 times per thread between a load and a store.
fn module(body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 data)\n{{
         .reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %d<8>;
         .shared .align 16 .b8 tile[1024];
         ld.param.u64 %d0, [data];
         mov.u32 %r0, %ctaid.x;
         mov.u32 %r1, %tid.x;
         mad.lo.u32 %r2, %r0, 256, %r1;
         mul.wide.u32 %d1, %r2, 4;
         add.s64 %d1, %d1, %d0;
         ld.global.b32 %r3, [%d1];
         mov.b32 %r4, 0;
         mov.u32 %r5, tile;
         shl.b32 %r6, %r1, 2;
         add.u32 %r5, %r5, %r6;
         mov.b32 %r7, 0f3F800001;
         $loop:
         {body}
         add.u32 %r4, %r4, 1;
         setp.lt.u32 %p0, %r4, 512;
         @%p0 bra $loop;
         st.global.b32 [%d1], %r3;
         ret;\n}}\n"
    )
}

/// Multiply and reduce modulo 2^31 - 1, as in the circle FFT.
const FIELD: &str = "mul.wide.u32 %d2, %r3, %r3;
    cvt.u32.u64 %r8, %d2;
    and.b32 %r8, %r8, 2147483647;
    shr.u64 %d3, %d2, 31;
    cvt.u32.u64 %r9, %d3;
    add.u32 %r8, %r8, %r9;
    add.u32 %r9, %r8, -2147483647;
    min.u32 %r3, %r8, %r9;";

const FLOAT: &str = "fma.rn.f32 %r3, %r3, %r7, %r7;
    fma.rn.f32 %r8, %r3, %r7, %r7;
    mul.rn.f32 %r3, %r8, %r7;
    add.rn.f32 %r3, %r3, %r8;
    max.f32 %r3, %r3, %r7;";

const MEMORY: &str = "st.shared.b32 [%r5], %r3;
    ld.shared.b32 %r8, [%r5];
    ld.global.b32 %r9, [%d1];
    add.u32 %r3, %r8, %r9;
    shfl.sync.bfly.b32 %r3, %r3, 1, 31, -1;";

fn measure(name: &str, body: &str, options: &Options) {
    let program = Program::load(&module(body)).unwrap();
    let memory = Memory::new(&[1 << 24]);
    let blocks = 32;
    let data = memory.alloc(0, 4 * 256 * u64::from(blocks)).unwrap();
    memory.fill(data, &[1, 0, 0, 0], 256 * u64::from(blocks)).unwrap();
    let mut best = 0.0_f64;
    for _ in 0..20 {
        let start = Instant::now();
        let counters =
            launch(&program, "k", Grid::linear(blocks, 256), &data.to_le_bytes(), &memory, 0, options).unwrap();
        best = best.max(counters.lane_instructions as f64 / start.elapsed().as_secs_f64());
    }
    println!("{name:<24} {:6.2} G lane instructions/s", best / 1e9);
}

fn main() {
    for (mode, checks) in [("plain", Checks::none()), ("sanitize", Checks::sanitize())] {
        let options = Options { checks, ..Options::default() };
        measure(&format!("field, {mode}"), FIELD, &options);
        measure(&format!("float, {mode}"), FLOAT, &options);
        measure(&format!("memory, {mode}"), MEMORY, &options);
    }
}
