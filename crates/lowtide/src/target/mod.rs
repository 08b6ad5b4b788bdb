//! The process that `run` starts: how it is started, how signals reach it, how its end is seen.
//!
//! Everything here lives on the main thread and does so little that nothing can fail: a watcher that
//! breaks must never end the run, so watching happens elsewhere.
//!
//! The target keeps our process group, session and terminal. Nothing ties it to us: no pipe, no death
//! signal; when lowtide is killed, it goes on.

mod inherited;
mod policy;
mod signals;
mod spawn;
mod supervise;

pub use inherited::Inherited;
pub use signals::{Mask, wait_for};
pub use spawn::spawn;
pub use supervise::{patiently, supervise};
