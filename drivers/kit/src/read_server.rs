//! Server that answers reads: the one that takes the writes, one of its replicas, or any in turn.

use assay_model::Kind;

/// Which server answers reads of records and scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadServer {
    /// The server that takes the writes.
    Primary,
    /// One of the replicas, which may lag behind; a session always asks the same one.
    Replica,
    /// The primary and the replicas in turn, whichever session asks.
    Any,
}

impl ReadServer {
    /// All of them, the primary first.
    pub const ALL: [ReadServer; 3] = [ReadServer::Primary, ReadServer::Replica, ReadServer::Any];
}

/// Distributes requests over a primary, which is host 0, and its replicas.
#[derive(Debug)]
pub struct ReadSpread {
    from: ReadServer,
    hosts: usize,
    /// How many reads were distributed in turn.
    turns: usize,
}

impl ReadSpread {
    /// Over `hosts` servers, one of which is the primary.
    pub fn new(from: ReadServer, hosts: usize) -> ReadSpread {
        assert!(hosts > usize::from(from == ReadServer::Replica), "there is nobody to be read");
        ReadSpread { from, hosts, turns: 0 }
    }

    /// The server that a request of this kind and session goes to.
    #[inline]
    pub fn host(&mut self, kind: Kind, session: u32) -> usize {
        match (kind, self.from) {
            (Kind::Read | Kind::Scan, ReadServer::Replica) => {
                1 + session as usize % (self.hosts - 1)
            }
            (Kind::Read | Kind::Scan, ReadServer::Any) => {
                self.turns += 1;
                self.turns % self.hosts
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(from: ReadServer, kind: Kind, sessions: [u32; 4]) -> [usize; 4] {
        let mut spread = ReadSpread::new(from, 3);
        sessions.map(|session| spread.host(kind, session))
    }

    #[test]
    fn a_session_reads_at_one_replica() {
        assert_eq!(hosts(ReadServer::Replica, Kind::Read, [0, 1, 0, 1]), [1, 2, 1, 2]);
        assert_eq!(hosts(ReadServer::Replica, Kind::Scan, [7, 7, 7, 7]), [2, 2, 2, 2]);
    }

    #[test]
    fn reads_in_turn_take_every_server() {
        assert_eq!(hosts(ReadServer::Any, Kind::Read, [5, 5, 5, 5]), [1, 2, 0, 1]);
    }

    #[test]
    fn the_primary_takes_all_else() {
        for from in ReadServer::ALL {
            assert_eq!(hosts(from, Kind::Update, [0, 1, 2, 3]), [0; 4]);
        }
        assert_eq!(hosts(ReadServer::Primary, Kind::Read, [0, 1, 2, 3]), [0; 4]);
    }
}
