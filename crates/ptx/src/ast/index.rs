//! How instructions name what their body declares.

/// Index into [`Body::registers`](super::Body::registers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reg(pub u32);

/// Index into [`Body::labels`](super::Body::labels).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelId(pub u32);

/// Index into [`Body::targets`](super::Body::targets).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetListId(pub u32);

/// Index into [`Body::prototypes`](super::Body::prototypes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrototypeId(pub u32);
