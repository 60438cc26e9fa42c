//! Stray, stale, misaligned and uninitialised accesses.

use cuda_sim::exec::{FaultKind, GAP, GUARD, Grid, Memory, MemoryProblem, Options, Program, Space};

use crate::exec::rig::{indexed, memory, module, run, upload};

/// One thread loads a word through `p0` and stores it to `p1`.
const COPY: &str = "ld.param.u64 %d0, [p0];
    ld.param.u64 %d1, [p1];
    ld.global.b32 %r0, [%d0];
    st.global.b32 [%d1], %r0;
    ret;";

fn copy(memory: &Memory, from: u64, to: u64) -> Option<FaultKind> {
    run(&module(2, COPY), Grid::linear(1, 1), &[from, to], memory, &Options::sanitize()).err().map(|fault| fault.kind)
}

fn problem(memory: &Memory, from: u64, to: u64) -> MemoryProblem {
    match copy(memory, from, to) {
        Some(FaultKind::Memory(fault)) => fault.problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn stray_addresses_name_what_they_missed() {
    let memory = Memory::new(&[1 << 20, 1 << 20]);
    let good = upload(&memory, &[5, 6]);
    let target = memory.alloc(0, 4).unwrap();
    assert_eq!(copy(&memory, good, target), None);
    assert_eq!(problem(&memory, 0, target), MemoryProblem::Null);
    let MemoryProblem::PastEnd { allocation, past } = problem(&memory, good + 8, target) else { panic!() };
    assert_eq!((allocation.base, allocation.bytes, past), (good, 8, 4));
    let MemoryProblem::Before { allocation, before } = problem(&memory, target - 16, target) else { panic!() };
    assert_eq!((allocation.base, before), (target, 16));
    let local = 7_u32;
    assert_eq!(problem(&memory, (&raw const local).addr() as u64 & !3, target), MemoryProblem::HostPointer);
    assert_eq!(problem(&memory, 1 << 60, target), MemoryProblem::Unmapped);
    memory.free(good).unwrap();
    let MemoryProblem::Freed { allocation, offset } = problem(&memory, good + 4, target) else { panic!() };
    assert_eq!((allocation.id, offset), (1, 4));
    let foreign = memory.alloc(1, 4).unwrap();
    memory.write(foreign, &[1, 2, 3, 4]).unwrap();
    assert!(matches!(problem(&memory, foreign, target), MemoryProblem::NoPeerAccess { accessor: 0, .. }));
    assert!(memory.enable_peer(0, 1));
    assert_eq!(copy(&memory, foreign, target), None);
}

#[test]
fn no_32_bit_offset_leads_from_one_allocation_into_another() {
    let memory = memory();
    let buffers: Vec<u64> = (0..16).map(|_| upload(&memory, &[1; 64])).collect();
    let target = memory.alloc(0, 4).unwrap();
    for (index, &base) in buffers.iter().enumerate() {
        for offset in (8..31).map(|power| 1 << power).chain([u64::from(u32::MAX - 7)]) {
            let said = problem(&memory, base + offset, target);
            let nearest = matches!(said, MemoryProblem::PastEnd { allocation, .. } if allocation.base == base);
            assert!(nearest || offset > 1 << 31, "{offset} bytes past buffer {index}: {said}");
            if index > 0 {
                let said = problem(&memory, base - offset, target);
                let nearest = matches!(said, MemoryProblem::Before { allocation, .. } if allocation.base == base);
                assert!(nearest || offset > 1 << 31, "{offset} bytes before buffer {index}: {said}");
            }
        }
    }
}

#[test]
fn misaligned_and_uninitialised_words_are_faults() {
    let memory = memory();
    let (data, target) = (upload(&memory, &[1, 2]), memory.alloc(0, 8).unwrap());
    let expected = FaultKind::Misaligned { space: Space::Global, address: data + 2, bytes: 4 };
    assert_eq!(copy(&memory, data + 2, target), Some(expected));
    let expected = FaultKind::Uninitialised { space: Space::Global, address: target };
    assert_eq!(copy(&memory, target, data), Some(expected));
    assert_eq!(copy(&memory, data, target), None);
    assert_eq!(copy(&memory, target, data), None);
    // Half of the bytes do not make a word.
    memory.write(target + 4, &[9, 9]).unwrap();
    let expected = FaultKind::Uninitialised { space: Space::Global, address: target + 6 };
    assert_eq!(copy(&memory, target + 4, data), Some(expected));
    // One lane of many is misaligned.
    let words = upload(&memory, &[0; 32]);
    let text = indexed("setp.eq.u32 %p0, %r0, 5; @%p0 add.s64 %d1, %d1, 2; st.global.b32 [%d1], %r0; ret;");
    let fault = run(&text, Grid::linear(1, 32), &[words], &memory, &Options::sanitize()).unwrap_err();
    let expected = FaultKind::Misaligned { space: Space::Global, address: words + 22, bytes: 4 };
    assert_eq!((fault.kind, fault.party.thread), (expected, [5, 0, 0]));
}

#[test]
fn shared_and_local_memory_have_bounds_and_must_be_written_first() {
    let attempt = |body: &str| {
        let fault = run(&module(0, body), Grid::linear(1, 1), &[], &memory(), &Options::sanitize());
        fault.err().map(|fault| fault.kind)
    };
    let shared = ".shared .align 4 .b8 s[8];";
    let local = ".local .align 4 .b8 l[8];";
    assert_eq!(attempt(&format!("{shared} st.shared.b32 [s+4], 1; ld.shared.b32 %r0, [s+4]; ret;")), None);
    let window = |space, address| Some(FaultKind::Window { space, address, bytes: 4, size: 8 });
    assert_eq!(attempt(&format!("{shared} st.shared.b32 [s+8], 1; ret;")), window(Space::Shared, 8));
    let gap = |space| Some(FaultKind::Uninitialised { space, address: 4 });
    assert_eq!(attempt(&format!("{shared} ld.shared.b32 %r0, [s+4]; ret;")), gap(Space::Shared));
    assert_eq!(attempt(&format!("{local} ld.local.b32 %r0, [l+4]; ret;")), gap(Space::Local));
    let generic = "mov.u64 %d0, l; cvta.local.u64 %d0, %d0; st.b32 [%d0+4], 3; ld.local.b32 %r0, [l+4]; ret;";
    assert_eq!(attempt(&format!("{local} {generic}")), None);
    let wide = format!("{shared} st.shared.b64 [s+4], %d0; ret;");
    assert_eq!(attempt(&wide), Some(FaultKind::Misaligned { space: Space::Shared, address: 4, bytes: 8 }));
}

#[test]
fn an_index_past_the_end_of_a_shared_array_reaches_no_other_array() {
    // A row of words, one of halves and one that is sized at launch.
    let body = |access: &str| {
        format!(
            ".shared .align 4 .b8 first[64];
             .shared .align 16 .b8 second[24];
             mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2;
             mov.u32 %r2, first; mov.u32 %r3, second; mov.u32 %r4, last;
             add.u32 %r2, %r2, %r1; add.u32 %r4, %r4, %r1;
             {access}
             ret;"
        )
    };
    let text = |access: &str| {
        let module = module(0, &body(access));
        module.replace(".visible .entry", ".extern .shared .align 8 .b8 last[];\n.visible .entry")
    };
    let attempt = |access: &str, threads: u32, options: &Options| {
        let grid = Grid { dynamic_shared: 64, ..Grid::linear(1, threads) };
        run(&text(access), grid, &[], &memory(), options).err().map(|fault| fault.kind)
    };
    for options in [Options::default(), Options::sanitize()] {
        for access in ["st.shared.b32 [%r2], 1;", "st.shared.b32 [%r4], 1;", "st.shared.b16 [%r3+22], 1;"] {
            let alone = format!("setp.ne.u32 %p0, %r0, 0; @%p0 ret; {access}");
            assert_eq!(attempt(if access.contains("%r3") { &alone } else { access }, 16, &options), None, "{access}");
        }
        for access in [
            "st.shared.b32 [%r2], 1;",
            "ld.shared.b32 %r5, [%r2+4];",
            "ld.shared.b32 %r5, [%r2+1000];",
            "st.shared.b32 [%r3+24], 1;",
            "st.shared.b32 [%r3+-4], 1;",
            "st.shared.b32 [%r3+-1000], 1;",
            "red.shared.add.u32 [%r3+28], 1;",
            "st.shared.b32 [%r4+-4], 1;",
        ] {
            let said = attempt(access, 17, &options);
            assert!(matches!(said, Some(FaultKind::BetweenArrays { .. })), "{access}: {said:?}");
        }
        let said = attempt("st.shared.b32 [%r4], 1;", 17, &options);
        assert!(matches!(said, Some(FaultKind::Window { space: Space::Shared, .. })), "{said:?}");
    }
    let program = Program::load(&text("")).unwrap();
    assert_eq!(program.kernel("k").unwrap().static_shared, 88, "gaps are no memory of the kernel");
}

#[test]
fn reports_name_kernel_line_and_thread() {
    let memory = memory();
    let text = module(
        1,
        "ld.param.u64 %d0, [p0];
         mov.u32 %r0, %tid.y;
         mul.wide.u32 %d1, %r0, 4;
         add.s64 %d1, %d1, %d0;
         st.global.b32 [%d1], %r0;
         ret;",
    );
    let data = memory.alloc(0, 8).unwrap();
    let grid = Grid { grid: [2, 1, 1], block: [2, 4, 1], dynamic_shared: 0 };
    let fault = run(&text, grid, &[data], &memory, &Options::default()).unwrap_err();
    assert_eq!((fault.party.block, fault.party.thread), ([0, 0, 0], [0, 2, 0]));
    assert_eq!(fault.party.place.text, "st.global.b32 [%d1], %r0;");
    assert_eq!(text.lines().nth(fault.party.place.line as usize - 1).unwrap().trim(), fault.party.place.text);
    assert_eq!(fault.kind.cu_result(), 700);
    assert!(fault.to_string().starts_with("kernel `k`: illegal address, 4 bytes at 0x"), "{fault}");
}

#[test]
fn mapped_host_memory_is_legal_until_it_is_unmapped() {
    let memory = memory();
    let mut words = vec![3_u32, 0].into_boxed_slice();
    let base = words.as_mut_ptr();
    // SAFETY: `words` lives to the end of the test and is read only after the launch.
    unsafe { memory.map_host(base.cast(), 8) }.unwrap();
    assert_eq!(copy(&memory, base.addr() as u64, base.addr() as u64 + 4), None);
    memory.unmap_host(base.cast()).unwrap();
    assert!(matches!(problem(&memory, base.addr() as u64, 0), MemoryProblem::Freed { .. }));
    assert_eq!(words[1], 3);
}

#[test]
fn an_index_that_runs_past_an_allocation_meets_no_other() {
    let memory = memory();
    let blocks: Vec<u64> = (0..32).map(|_| memory.alloc(0, 4096).unwrap()).collect();
    for past in (0..GAP).step_by(4096 * 1021) {
        let problem = problem(&memory, blocks[7] + 4096 + past, blocks[0]);
        let nearest = if past < GAP / 2 { blocks[7] } else { blocks[8] };
        match problem {
            MemoryProblem::PastEnd { allocation, .. } | MemoryProblem::Before { allocation, .. } => {
                assert_eq!(allocation.base, nearest, "{past}");
            }
            other => panic!("{past}: {other}"),
        }
    }
    assert_eq!(memory.find(blocks[8]).unwrap().base, blocks[8]);
}

#[test]
fn addresses_last_for_more_allocations_than_there_are_wide_gaps() {
    let memory = memory();
    let mut last = 0;
    for _ in 0..600_000 {
        let next = memory.alloc(0, 16).unwrap();
        assert!(next >= last + GUARD);
        memory.free(next).unwrap();
        last = next;
    }
    assert!(memory.alloc(0, 16).unwrap() - last < GAP, "half the range is used up");
}
