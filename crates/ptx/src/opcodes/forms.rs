//! The table: what LLVM emits for kernels of this project at sm_80, the kernels' inline assembly, and near neighbours.

use super::{Form, Group};

const fn form(group: Group, pattern: &'static str) -> Form {
    Form { group, pattern }
}

/// Loads or stores of one or two words.
macro_rules! pairs {
    ($stem:literal) => {
        concat!($stem, "{.v2,}.{b8,u8,s8,b16,u16,s16,b32,u32,s32,b64,u64,s64,f32,f64}")
    };
}

/// Loads or stores of four words, 16 bytes at most.
macro_rules! quads {
    ($stem:literal) => {
        concat!($stem, ".v4.{b8,u8,s8,b16,u16,s16,b32,u32,s32,f32}")
    };
}

/// Atomics that combine a value with memory.
macro_rules! reductions {
    ($stem:literal) => {
        concat!(
            $stem,
            "{.cta,.gpu,.sys,}{.global,.shared,}.{add.u32,add.s32,add.u64,add.f32,add.noftz.f16x2,\
             min.u32,min.s32,min.u64,min.s64,max.u32,max.s32,max.u64,max.s64,\
             and.b32,and.b64,or.b32,or.b64,xor.b32,xor.b64}"
        )
    };
}

/// Every admitted form.
#[rustfmt::skip]
pub const FORMS: &[Form] = &[
    form(Group::Move, "mov.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64,pred}"),
    form(Group::Move, "selp.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}"),
    form(Group::Move, "cvta{.to,}.{global,shared,local,const,param}.u64"),
    form(Group::Move, "isspacep.{global,shared,local,const}"),

    form(Group::Integer, "{add,sub}.{u16,s16,u32,s32,u64,s64}"),
    form(Group::Integer, "{add,sub}.sat.s32"),
    form(Group::Integer, "sad.{u32,s32}"),
    form(Group::Integer, "{add.cc,addc,addc.cc,sub.cc,subc,subc.cc}.{u32,s32,u64,s64}"),
    form(Group::Integer, "mul.{lo,hi}.{u16,s16,u32,s32,u64,s64}"),
    form(Group::Integer, "mul.wide.{u16,s16,u32,s32}"),
    form(Group::Integer, "mad.lo.{u16,s16,u32,s32,u64,s64}"),
    form(Group::Integer, "mad.hi.{u32,s32,u64,s64}"),
    form(Group::Integer, "mad.wide.{u16,s16,u32,s32}"),
    form(Group::Integer, "{div,rem}.{u16,s16,u32,s32,u64,s64}"),
    form(Group::Integer, "{neg,abs}.{s16,s32,s64}"),
    form(Group::Integer, "{min,max}.{u16,s16,u32,s32,u64,s64}"),

    form(Group::Bits, "{and,or,xor,not}.{b16,b32,b64,pred}"),
    form(Group::Bits, "bfind.u32"),
    form(Group::Bits, "cnot.{b16,b32,b64}"),
    form(Group::Bits, "shl.{b16,b32,b64}"),
    form(Group::Bits, "shr.{b16,b32,b64,u16,s16,u32,s32,u64,s64}"),
    form(Group::Bits, "shf.{l,r}.{wrap,clamp}.b32"),
    form(Group::Bits, "bfe.{u32,s32,u64,s64}"),
    form(Group::Bits, "{brev,popc,clz}.{b32,b64}"),
    form(Group::Bits, "bfi.b32"),
    form(Group::Bits, "prmt.b32{.f4e,.b4e,.rc8,.ecl,.ecr,.rc16,}"),
    form(Group::Bits, "lop3.b32"),

    form(Group::Float, "{add,sub,mul}{.rn,}{.ftz,}{.sat,}.f32"),
    form(Group::Float, "{fma,div,sqrt,rcp}.rn{.ftz,}.f32"),
    form(Group::Float, "{min,max}{.ftz,}{.NaN,}.f32"),
    form(Group::Float, "{abs,neg}{.ftz,}.f32"),
    form(Group::Float, "{add,sub,mul}{.rn,}.f64"),
    form(Group::Float, "{fma,div,sqrt,rcp}.rn.f64"),
    form(Group::Float, "{min,max,abs,neg}.f64"),
    form(Group::Float, "testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}"),
    form(Group::Float, "copysign.{f32,f64}"),
    form(Group::Float, "{add,sub,mul}{.rn,}.f16"),
    form(Group::Float, "{add,sub,mul}.rn.f16x2"),
    form(Group::Float, "fma.rn.{f16,bf16}"),
    form(Group::Float, "{neg,abs}.{f16,bf16}"),

    form(Group::Approx, "{ex2,lg2,sin,cos,rcp,rsqrt,sqrt}.approx{.ftz,}.f32"),
    form(Group::Approx, "tanh.approx.f32"),
    form(Group::Approx, "div.{approx,full}{.ftz,}.f32"),

    form(Group::Compare, "setp.{eq,ne}{.and,.or,.xor,}.{b16,b32,b64,u16,s16,u32,s32,u64,s64}"),
    form(Group::Compare, "setp.{lt,le,gt,ge}{.and,.or,.xor,}.{u16,s16,u32,s32,u64,s64}"),
    form(Group::Compare, "setp.{lo,ls,hi,hs}{.and,.or,.xor,}.{u16,u32,u64}"),
    form(Group::Compare,
        "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{.and,.or,.xor,}{.ftz,}.f32"),
    form(Group::Compare, "setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{.and,.or,.xor,}.{f16,f64}"),

    form(Group::Convert, "cvt.{u8,s8,u16,s16,u32,s32,u64,s64}.{u8,s8,u16,s16,u32,s32,u64,s64}"),
    form(Group::Convert, "cvt.sat.{u8,s8,u16,s16,u32,s32,u64,s64}.{u8,s8,u16,s16,u32,s32,u64,s64}"),
    form(Group::Convert, "cvt.rn.{f16,f32,f64}.{u8,s8,u16,s16,u32,s32,u64,s64}"),
    form(Group::Convert, "cvt.{rni,rzi,rmi,rpi}{.ftz,}.{u8,s8,u16,s16,u32,s32,u64,s64}.f32"),
    form(Group::Convert, "cvt.{rni,rzi,rmi,rpi}.{u8,s8,u16,s16,u32,s32,u64,s64}.{f16,f64}"),
    form(Group::Convert, "cvt.{rni,rzi,rmi,rpi}{.ftz,}.f32.f32"),
    form(Group::Convert, "cvt.{rni,rzi,rmi,rpi}.{f16.f16,f64.f64}"),
    form(Group::Convert, "cvt{.ftz,}.f64.f32"),
    form(Group::Convert, "cvt.rn{.ftz,}.f32.f64"),
    form(Group::Convert, "cvt{.ftz,}{.sat,}.f32.f32"),
    form(Group::Convert, "cvt.{rn,rz}.f16.f32"),
    form(Group::Convert, "cvt.{f32,f64}.f16"),
    form(Group::Convert, "cvt.{rn,rz}{.relu,}.bf16.f32"),
    form(Group::Convert, "cvt.f32.bf16"),
    form(Group::Convert, "cvt.{rn,rz}{.relu,}.{f16x2,bf16x2}.f32"),
    form(Group::Convert, "cvt.rna.tf32.f32"),

    form(Group::Memory, pairs!("ld{.weak,}{.param,.local,.const}")),
    form(Group::Memory, quads!("ld{.weak,}{.param,.local,.const}")),
    form(Group::Memory, pairs!(
        "ld{.weak,.volatile,.relaxed.cta,.relaxed.gpu,.relaxed.sys,.acquire.cta,.acquire.gpu,.acquire.sys,}\
         {.global,.shared,}"
    )),
    form(Group::Memory, quads!(
        "ld{.weak,.volatile,.relaxed.cta,.relaxed.gpu,.relaxed.sys,.acquire.cta,.acquire.gpu,.acquire.sys,}\
         {.global,.shared,}"
    )),
    form(Group::Memory, pairs!("ld.global{.ca,.cg,.cs,}{.nc,}{.L2::64B,.L2::128B,.L2::256B,}")),
    form(Group::Memory, quads!("ld.global{.ca,.cg,.cs,}{.nc,}{.L2::64B,.L2::128B,.L2::256B,}")),
    form(Group::Memory, pairs!("ld.global{.lu,.cv}")),
    form(Group::Memory, quads!("ld.global{.lu,.cv}")),
    form(Group::Memory, pairs!(
        "ld.global{.nc,}{.L1::evict_normal,.L1::evict_first,.L1::evict_last,.L1::no_allocate}\
         {.L2::64B,.L2::128B,.L2::256B,}"
    )),
    form(Group::Memory, quads!(
        "ld.global{.nc,}{.L1::evict_normal,.L1::evict_first,.L1::evict_last,.L1::no_allocate}\
         {.L2::64B,.L2::128B,.L2::256B,}"
    )),
    form(Group::Memory, pairs!("st{.weak,}{.param,.local}")),
    form(Group::Memory, quads!("st{.weak,}{.param,.local}")),
    form(Group::Memory, pairs!(
        "st{.weak,.volatile,.relaxed.cta,.relaxed.gpu,.relaxed.sys,.release.cta,.release.gpu,.release.sys,}\
         {.global,.shared,}"
    )),
    form(Group::Memory, quads!(
        "st{.weak,.volatile,.relaxed.cta,.relaxed.gpu,.relaxed.sys,.release.cta,.release.gpu,.release.sys,}\
         {.global,.shared,}"
    )),
    form(Group::Memory, pairs!(
        "st.global\
         {.wb,.cg,.cs,.wt,.L1::evict_normal,.L1::evict_first,.L1::evict_last,.L1::no_allocate}"
    )),
    form(Group::Memory, quads!(
        "st.global\
         {.wb,.cg,.cs,.wt,.L1::evict_normal,.L1::evict_first,.L1::evict_last,.L1::no_allocate}"
    )),

    form(Group::Atomic, reductions!("atom{.relaxed,.acquire,.release,.acq_rel,}")),
    form(Group::Atomic, reductions!("red{.relaxed,.release,}")),
    form(Group::Atomic,
        "atom{.relaxed,.acquire,.release,.acq_rel,}{.cta,.gpu,.sys,}{.global,.shared,}.{exch,cas}.{b32,b64}"),
    form(Group::Atomic, "fence{.sc,.acq_rel,}.{cta,gpu,sys}"),
    form(Group::Atomic, "membar.{cta,gl,sys}"),

    form(Group::Control, "{bra,brx.idx,call,ret}{.uni,}"),
    form(Group::Control, "{exit,trap}"),

    form(Group::Sync, "bar{.cta,}.{sync,arrive}"),
    form(Group::Sync, "barrier{.cta,}.{sync,arrive}{.aligned,}"),
    form(Group::Sync, "bar{.cta,}.red.{popc.u32,and.pred,or.pred}"),
    form(Group::Sync,
        "barrier{.cta,}.red.{popc.aligned.u32,popc.u32,and.aligned.pred,and.pred,or.aligned.pred,or.pred}"),
    form(Group::Sync, "bar.warp.sync"),
    form(Group::Sync, "shfl.sync.{bfly,up,down,idx}.b32"),
    form(Group::Sync, "vote.sync.{ballot.b32,any.pred,all.pred,uni.pred}"),
    form(Group::Sync, "match.{any,all}.sync.{b32,b64}"),
    form(Group::Sync, "redux.sync.{add.u32,add.s32,min.u32,min.s32,max.u32,max.s32,and.b32,or.b32,xor.b32}"),
    form(Group::Sync, "activemask.b32"),

    form(Group::Tensor, "ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{.trans,}.shared.b16"),
    form(Group::Tensor, "mma.sync.aligned.m16n8k16.row.col.f32.{bf16.bf16,f16.f16}.f32"),
    form(Group::Tensor, "mma.sync.aligned.m16n8k8.row.col.f32.{tf32.tf32,bf16.bf16,f16.f16}.f32"),
    form(Group::Tensor, "mma.sync.aligned.m16n8k32.row.col{.satfinite,}.s32.s8.s8.s32"),
    form(Group::Tensor, "cp.async.{ca,cg}.shared.global{.L2::64B,.L2::128B,.L2::256B,}"),
    form(Group::Tensor, "cp.async.{commit_group,wait_group,wait_all}"),
];
