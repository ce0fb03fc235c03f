package assay.chronicle;

import assay.bridge.Tended;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ExternalMapQueryContext;
import net.openhft.chronicle.map.MapEntry;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * What both ways to keep records in Chronicle Map have in common.
 *
 * <p>Properties: {@code chronicle.path} (a folder; without it records are in memory alone), {@code chronicle.entries}
 * (records that a new map is made for), {@code chronicle.entrysize} (a record's average bytes), {@code chronicle.bloat}
 * (how many times larger it may grow).
 *
 * <p>Chronicle Map has no order of keys, so there is no scan.
 */
abstract class Maps extends DB implements Tended {
  /** There is no room, which Chronicle Map finds out before it changes anything. */
  static final Status FULL = new Status("FULL", "The map has no room for this record.");

  final Encoding encoding = new Encoding();
  private House house;

  /** Opens the maps of a table. */
  abstract void open(String table) throws DBException;

  /** One word for how records are kept. */
  abstract String layout();

  @Override
  public void init() throws DBException {
    house = House.acquire(getProperties());
  }

  @Override
  public void cleanup() throws DBException {
    close();
  }

  @Override
  public Map<String, String> traits() {
    boolean isInMemory = House.folder(getProperties()).isEmpty();
    Map<String, String> traits = new HashMap<>();
    traits.put("name", "chronicle-map-" + layout());
    traits.put("persistent", String.valueOf(!isInMemory));
    // A mapped file may wait for the disk.
    traits.put("inline", String.valueOf(isInMemory));
    traits.put("kinds", "read,update,insert,delete");
    return traits;
  }

  @Override
  public void prepare(List<String> tables) throws DBException {
    for (String table : tables) {
      house();
      open(table);
    }
  }

  @Override
  public void clear() throws DBException {
    house().clear();
  }

  @Override
  public String note() throws DBException {
    return house().note();
  }

  @Override
  public void keepNote(String note) throws DBException {
    house().keepNote(note);
  }

  @Override
  public Map<String, String[]> settings() throws DBException {
    Map<String, String[]> settings = new LinkedHashMap<>(house().settings());
    settings.put("layout", new String[] {layout(), layout().equals("rows")
        ? "a record is one value: an update reads and writes it whole, alone with it"
        : "a value for each field: an update writes what it names; readers may see one field of it and not the other"});
    return settings;
  }

  @Override
  public void close() throws DBException {
    if (house != null) {
      house.release();
      house = null;
    }
  }

  @Override
  public Status scan(
      String table,
      String start,
      int count,
      Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return Status.NOT_IMPLEMENTED;
  }

  House house() throws DBException {
    if (house == null) {
      house = House.acquire(getProperties());
    }
    return house;
  }

  /** Removes an entry, and tells whether there was one. */
  static boolean remove(ChronicleMap<String, byte[]> map, String key) {
    try (ExternalMapQueryContext<String, byte[], ?> context = map.queryContext(key)) {
      context.updateLock().lock();
      MapEntry<String, byte[]> entry = context.entry();
      if (entry == null) {
        return false;
      }
      entry.doRemove();
      return true;
    }
  }

  /** What an exception of a write means, if Chronicle Map throws it because there is no room. */
  static Status full(RuntimeException thrown) {
    String text = String.valueOf(thrown.getMessage());
    boolean isFull = thrown instanceof IllegalStateException && text.contains("extra segment tier")
        || thrown instanceof IllegalArgumentException && text.contains("too large");
    if (isFull) {
      return FULL;
    }
    throw thrown;
  }
}
