package assay.bridge;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.Status;

/**
 * One thread's instance of a binding, called through shared memory.
 *
 * <p>The native side writes a request into one buffer and calls {@link #ask}; the answer is in the other one when that
 * returns. A value is copied once on this side: out of the request into an array that the binding may keep, or out of
 * what the binding gives into the answer; YCSB's own iterators put an array of theirs in between.
 */
public final class Lane {
  private static final int READ = 0;
  private static final int UPDATE = 1;
  private static final int INSERT = 2;
  private static final int SCAN = 3;
  private static final int DELETE = 4;
  /** Added to the kind of an operation whose key has no character beyond ASCII. */
  private static final int ASCII = 1 << 8;
  /** Set in the answer's number as long as {@link #answer} gives another buffer than it last did. */
  private static final long GROWN = 1 << 8;
  private static final int EVERY_FIELD = -1;
  private static final int EVERY_FIELD_BY_NAME = -2;
  private static final int FIRST_BYTES = 256 << 10;
  private static final int LONGEST_NAME = 0xFFFF;

  private final Store store;
  private final String[] tables;
  private final String[][] fields;
  private final boolean keepsNothing;
  private final Map<String, byte[]> names = new HashMap<>();
  private DB db;
  private String failure = "";
  private byte[] scratch = new byte[512];
  private ByteBuffer request = buffer(FIRST_BYTES);
  private ByteBuffer answer = buffer(FIRST_BYTES);
  private long grown;

  private Lane(Store store) {
    this.store = store;
    this.tables = store.tables();
    this.fields = store.fields();
    this.keepsNothing = store.keepsNothing();
  }

  static Lane open(Store store) {
    Lane lane = new Lane(store);
    try {
      DB db = store.fresh();
      db.setProperties(store.properties());
      db.init();
      lane.db = db;
    } catch (Throwable thrown) {
      Throwable cause = thrown instanceof java.lang.reflect.InvocationTargetException ? thrown.getCause() : thrown;
      lane.failure = Failure.failed("the binding's init has thrown " + Failure.describe(cause)
          + "; check its properties (p.NAME=VALUE) and that what it connects to is there").told();
    }
    return lane;
  }

  /** Why it could not be opened; empty if it could. */
  public String failure() {
    return failure;
  }

  /** Where requests are written. */
  public ByteBuffer request() {
    return request;
  }

  /** The buffer of responses; each call returns the newest one. */
  public ByteBuffer answer() {
    grown = 0;
    return answer;
  }

  /** A new buffer for requests, of at least this many bytes; the content of the old one is lost. */
  public ByteBuffer grow(int bytes) {
    request = buffer(bytes);
    return request;
  }

  /** Ends the instance; its exception is printed. */
  public void close() {
    try {
      if (db != null) {
        db.cleanup();
      }
    } catch (Throwable thrown) {
      store.show("cleanup", thrown);
    }
    db = null;
  }

  /**
   * Does one operation.
   *
   * @param kind which one, see the constants
   * @param table place of the table in the layout
   * @param field which field is read, or one of the negative constants
   * @param limit how many records a scan returns at most
   * @param key how many bytes of the request are the key; the values follow, each with the number of its field and its
   *     length before it
   * @param values how many values there are
   * @return in the lowest eight bits a code of {@link Codes}, then {@link #GROWN}, in the highest 32 how many bytes of
   *     answer there are
   */
  public long ask(int kind, int table, int field, int limit, int key, int values) {
    answer.clear();
    int code;
    try {
      code = perform(kind, table, field, limit, key, values);
    } catch (OutOfMemoryError full) {
      answer.clear();
      code = Codes.OUT_OF_MEMORY;
      store.show(name(kind), full);
    } catch (Throwable thrown) {
      answer.clear();
      code = thrown instanceof Unspeakable ? Codes.GARBLED : Codes.THROWN;
      store.show(name(kind), thrown);
    }
    return code | grown | (long) answer.position() << 32;
  }

  private int perform(int kind, int table, int field, int limit, int keyLength, int values) {
    String name = tables[table];
    String key = key(keyLength, (kind & ASCII) != 0);
    switch (kind & ~ASCII) {
      case READ: {
        Map<String, ByteIterator> row = new HashMap<>();
        int code = Codes.of(db.read(name, key, chosen(table, field), row));
        if (code != Codes.OK) {
          return code;
        }
        if (row.isEmpty()) {
          // Several bindings return this when there is no such record.
          return keepsNothing ? Codes.OK : Codes.NOT_FOUND;
        }
        put(row);
        return code;
      }
      case SCAN: {
        Vector<HashMap<String, ByteIterator>> rows = new Vector<>();
        int code = Codes.of(db.scan(name, key, limit, chosen(table, field), rows));
        if (code == Codes.OK) {
          for (HashMap<String, ByteIterator> row : rows) {
            put(row);
          }
        }
        return code;
      }
      case UPDATE:
        return Codes.of(db.update(name, key, values(table, keyLength, values)));
      case INSERT:
        return Codes.of(db.insert(name, key, values(table, keyLength, values)));
      case DELETE:
        return Codes.of(db.delete(name, key));
      default:
        return Codes.of(Status.NOT_IMPLEMENTED);
    }
  }

  private String key(int length, boolean isAscii) {
    if (scratch.length < length) {
      scratch = new byte[length];
    }
    request.get(0, scratch, 0, length);
    return new String(scratch, 0, length, isAscii ? StandardCharsets.ISO_8859_1 : StandardCharsets.UTF_8);
  }

  /** The set is the binding's own, as in YCSB. */
  private Set<String> chosen(int table, int field) {
    if (field == EVERY_FIELD) {
      return null;
    }
    if (field == EVERY_FIELD_BY_NAME) {
      return new HashSet<>(Arrays.asList(fields[table]));
    }
    Set<String> chosen = new HashSet<>();
    chosen.add(fields[table][field]);
    return chosen;
  }

  /** The map and its values are the binding's own, as in YCSB. */
  private Map<String, ByteIterator> values(int table, int begin, int count) {
    Map<String, ByteIterator> values = new HashMap<>(count * 2);
    int at = begin;
    for (int place = 0; place < count; place++) {
      int field = request.getInt(at);
      byte[] value = new byte[request.getInt(at + 4)];
      request.get(at + 8, value);
      values.put(fields[table][field], new Piece(value));
      at += 8 + value.length;
    }
    return values;
  }

  /** Appends a record: the number of its fields, then for each the lengths of name and value before these. */
  private void put(Map<String, ByteIterator> row) {
    room(2);
    int begin = answer.position();
    answer.putShort((short) 0);
    int count = 0;
    for (Map.Entry<String, ByteIterator> field : row.entrySet()) {
      ByteIterator value = field.getValue();
      if (value != null) {
        put(name(field.getKey()), value);
        count++;
      }
    }
    if (count > LONGEST_NAME) {
      throw new Unspeakable("a record of " + count + " fields");
    }
    answer.putShort(begin, (short) count);
  }

  private void put(byte[] name, ByteIterator value) {
    if (value instanceof Piece piece) {
      int length = (int) piece.bytesLeft();
      head(name, length);
      piece.write(answer);
      return;
    }
    byte[] bytes = value.toArray();
    head(name, bytes.length);
    answer.put(bytes);
  }

  private void head(byte[] name, int length) {
    room(6L + name.length + length);
    answer.putShort((short) name.length);
    answer.putInt(length);
    answer.put(name);
  }

  private byte[] name(String field) {
    byte[] known = names.get(field);
    if (known != null) {
      return known;
    }
    byte[] name = field.getBytes(StandardCharsets.UTF_8);
    if (name.length > LONGEST_NAME) {
      throw new Unspeakable("a field name of " + name.length + " bytes");
    }
    if (names.size() < 1024) {
      names.put(field, name);
    }
    return name;
  }

  private void room(long bytes) {
    if (answer.remaining() >= bytes) {
      return;
    }
    long needed = Math.max(answer.position() + bytes, answer.capacity() * 2L);
    if (answer.position() + bytes > Integer.MAX_VALUE) {
      throw new Unspeakable("an answer of more than 2 GiB");
    }
    ByteBuffer larger = buffer((int) Math.min(needed, Integer.MAX_VALUE));
    larger.put(answer.flip());
    answer = larger;
    grown = GROWN;
  }

  private static ByteBuffer buffer(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static String name(int kind) {
    return switch (kind & ~ASCII) {
      case READ -> "read";
      case UPDATE -> "update";
      case INSERT -> "insert";
      case SCAN -> "scan";
      default -> "delete";
    };
  }

  /** A binding's result cannot be encoded. */
  private static final class Unspeakable extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Unspeakable(String what) {
      super(what + " cannot be handed over");
    }
  }
}
