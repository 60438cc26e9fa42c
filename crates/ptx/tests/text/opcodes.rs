//! The opcode table against the census of compiled kernels.

use ptx::opcodes::{FORMS, Group, all, group};

#[test]
fn forms_of_compiled_kernels_are_admitted() {
    for (opcode, expected) in [
        ("mov.b64", Group::Move),
        ("cvta.to.global.u64", Group::Move),
        ("isspacep.shared", Group::Move),
        ("mul.wide.u32", Group::Integer),
        ("addc.cc.s64", Group::Integer),
        ("shf.l.wrap.b32", Group::Bits),
        ("lop3.b32", Group::Bits),
        ("fma.rn.ftz.f32", Group::Float),
        ("testp.infinite.f32", Group::Float),
        ("tanh.approx.f32", Group::Approx),
        ("setp.lt.and.u32", Group::Compare),
        ("setp.neu.f64", Group::Compare),
        ("cvt.rzi.s32.f32", Group::Convert),
        ("cvt.rn.bf16x2.f32", Group::Convert),
        ("cvt.u64.u32", Group::Convert),
        ("ld.param.b32", Group::Memory),
        ("ld.global.nc.L1::no_allocate.L2::128B.v4.b32", Group::Memory),
        ("ld.global.L1::no_allocate.v4.u32", Group::Memory),
        ("ld.acquire.sys.global.b32", Group::Memory),
        ("st.shared.v4.b32", Group::Memory),
        ("ld.b32", Group::Memory),
        ("atom.global.add.u32", Group::Atomic),
        ("atom.acq_rel.sys.global.cas.b32", Group::Atomic),
        ("red.global.add.f32", Group::Atomic),
        ("fence.acq_rel.gpu", Group::Atomic),
        ("membar.gl", Group::Atomic),
        ("bra.uni", Group::Control),
        ("brx.idx", Group::Control),
        ("bar.sync", Group::Sync),
        ("shfl.sync.bfly.b32", Group::Sync),
        ("vote.sync.ballot.b32", Group::Sync),
        ("redux.sync.add.u32", Group::Sync),
        ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", Group::Tensor),
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", Group::Tensor),
        ("cp.async.cg.shared.global", Group::Tensor),
        ("cp.async.wait_group", Group::Tensor),
    ] {
        assert_eq!(group(opcode), Some(expected), "{opcode}");
    }
}

#[test]
fn others_are_not() {
    for opcode in
        ["", "mov", "mov.b8", "add.f16x2", "ld.global.nc.acquire.b32", "wgmma.fence", "frob.b32", "bar.sync.x"]
    {
        assert_eq!(group(opcode), None, "{opcode}");
    }
}

#[test]
fn every_form_admits_what_it_lists() {
    for form in FORMS {
        let opcodes = form.opcodes();
        assert!(!opcodes.is_empty() && opcodes.iter().all(|opcode| form.admits(opcode)), "{}", form.pattern);
    }
    assert!(all().count() > 1000);
}
