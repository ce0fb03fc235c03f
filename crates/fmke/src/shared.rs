//! Shared state of the connections of a worker, with the places for operations.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use tokio::sync::Semaphore;

use crate::application::{Application, SESSIONS_EACH};
use crate::config::ServerLimits;
use crate::tls::ServerTls;

/// What all connections of a worker share.
pub(crate) struct Shared {
    pub(crate) application: Application,
    pub(crate) admission: Rc<Admission>,
    pub(crate) limits: ServerLimits,
    pub(crate) tls: Option<ServerTls>,
    /// The answer to who asks for the state of the server.
    pub(crate) status: Bytes,
}

/// Lets so many operations in, so many wait, and turns the others away.
pub(crate) struct Admission {
    places: Semaphore,
    waiting: Cell<usize>,
    waiting_max: usize,
    sessions: RefCell<Vec<u32>>,
}

/// Permission for one operation, with the sessions that it uses.
pub(crate) struct OperationPermit {
    admission: Rc<Admission>,
    session: u32,
}

impl Admission {
    pub(crate) fn new(in_flight: usize, waiting_max: usize) -> Admission {
        let sessions = (0..).step_by(SESSIONS_EACH as usize).take(in_flight).collect();
        Admission {
            places: Semaphore::new(in_flight),
            waiting: Cell::new(0),
            waiting_max,
            sessions: RefCell::new(sessions),
        }
    }

    /// Permission, at once or after a wait; `None` if too many wait already.
    pub(crate) async fn enter(self: &Rc<Admission>) -> Option<OperationPermit> {
        let permit = match self.places.try_acquire() {
            Ok(permit) => permit,
            Err(_) if self.waiting.get() >= self.waiting_max => return None,
            Err(_) => {
                let waiting = Waiting::among(&self.waiting);
                let permit = self.places.acquire().await.ok()?;
                drop(waiting);
                permit
            }
        };
        let session = self.sessions.borrow_mut().pop()?;
        permit.forget();
        Some(OperationPermit { admission: Rc::clone(self), session })
    }
}

impl OperationPermit {
    /// The first of its sessions.
    pub(crate) fn session(&self) -> u32 {
        self.session
    }
}

impl Drop for OperationPermit {
    fn drop(&mut self) {
        self.admission.sessions.borrow_mut().push(self.session);
        self.admission.places.add_permits(1);
    }
}

/// One who waits, also if its caller hangs up meanwhile.
struct Waiting<'a>(&'a Cell<usize>);

impl Waiting<'_> {
    fn among(waiting: &Cell<usize>) -> Waiting<'_> {
        waiting.set(waiting.get() + 1);
        Waiting(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
