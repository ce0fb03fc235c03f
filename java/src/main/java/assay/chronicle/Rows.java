package assay.chronicle;

import java.util.Map;
import java.util.Set;
import net.openhft.chronicle.map.ChronicleMap;
import net.openhft.chronicle.map.ExternalMapQueryContext;
import net.openhft.chronicle.map.MapEntry;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * Chronicle Map with a record as one value.
 *
 * <p>A read copies the whole record, whatever it asks for; an update reads, changes and writes it whole, under the lock of
 * its key. An update of a missing record writes nothing.
 */
public final class Rows extends Maps {
  private String opened = "";
  private ChronicleMap<String, byte[]> rows;

  @Override
  String layout() {
    return "rows";
  }

  @Override
  void open(String table) throws DBException {
    rows(table);
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    byte[] row = use(table).get(key);
    if (row == null) {
      return Status.NOT_FOUND;
    }
    encoding.decode(row, fields, result);
    return Status.OK;
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    try {
      use(table).put(key, encoding.encode(values));
      return Status.OK;
    } catch (RuntimeException thrown) {
      return full(thrown);
    }
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    try (ExternalMapQueryContext<String, byte[], ?> context = use(table).queryContext(key)) {
      context.updateLock().lock();
      MapEntry<String, byte[]> entry = context.entry();
      if (entry == null) {
        return Status.NOT_FOUND;
      }
      byte[] row = encoding.merge(entry.value().get(), values);
      entry.doReplaceValue(context.wrapValueAsData(row));
      return Status.OK;
    } catch (RuntimeException thrown) {
      return full(thrown);
    }
  }

  @Override
  public Status delete(String table, String key) {
    return remove(use(table), key) ? Status.OK : Status.NOT_FOUND;
  }

  private ChronicleMap<String, byte[]> use(String table) {
    if (rows == null || !opened.equals(table) || !rows.isOpen()) {
      try {
        rows(table);
      } catch (DBException failed) {
        throw new IllegalStateException(failed);
      }
    }
    return rows;
  }

  private void rows(String table) throws DBException {
    rows = house().map(table + ".rows", 1, house().entryBytes());
    opened = table;
  }
}
